<?php
/**
 * Install WordPress with a post in each category, and print their ids: install.php FOLDER SOCKET SECRET [CATEGORY…].
 *
 * The categories are free and premium, and those named. The premium post has the secret, and so have a study and a memo.
 * The category free has a second post, /free/نص/.
 * The page /about/ is for everybody. Reader may edit nothing, pager may edit pages, and scholar its own study, which is s2.
 */

[, $folder, $socket, $secret] = $argv;
(new mysqli('localhost', 'root', '', '', 0, $socket))->query('CREATE DATABASE wordpress');
define('WP_INSTALLING', true);
$_SERVER += ['HTTP_HOST' => 'pub.example', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET'];
require "$folder/wp-load.php";
require ABSPATH . 'wp-admin/includes/upgrade.php';
function wp_new_blog_notification()
{
}
wp_install('The Daily', 'ada', 'ada@pub.example', true, '', 'secret');
update_option('siteurl', 'http://pub.example');
update_option('home', 'http://pub.example');
update_option('permalink_structure', '/%category%/%postname%/');
activate_plugin('content-access-licensing.php');
delete_option('rewrite_rules'); // the first visit makes them, once WordPress is installed
foreach (['free', 'premium', ...array_slice($argv, 4)] as $name) {
    $text = $name === 'premium' ? "$secret<!--nextpage-->$secret, continued" : 'Everybody reads this.';
    $category = wp_create_category($name);
    $made = wp_insert_post([
        'post_title' => "A $name post", 'post_name' => "$name-post", 'post_content' => $text, 'post_excerpt' => 'In short.',
        'post_status' => 'publish', 'post_author' => 1, 'post_category' => [$category],
    ]);
    echo "$name=$made\n$name-category=$category\n";
}
wp_insert_post([
    'post_title' => 'نص', 'post_name' => 'نص', 'post_content' => 'Everybody reads this.', 'post_status' => 'publish',
    'post_author' => 1, 'post_category' => [get_cat_ID('free')],
]);
foreach (['page' => 'about', 'study' => 's1', 'memo' => 'm1'] as $type => $name) {
    $made = wp_insert_post([
        'post_type' => $type, 'post_title' => $name, 'post_name' => $name, 'post_excerpt' => 'In short.', 'post_author' => 1,
        'post_content' => $type === 'page' ? 'Everybody reads about us.' : $secret, 'post_status' => 'publish',
    ]);
    echo "$name=$made\n";
}
foreach (['private', 'draft', 'locked'] as $status) { // `locked` has a password
    $made = wp_insert_post([
        'post_title' => $status, 'post_name' => $status, 'post_content' => $secret, 'post_author' => 1,
        'post_status' => $status === 'locked' ? 'publish' : $status, 'post_category' => [get_cat_ID('free')],
        'post_password' => $status === 'locked' ? 'sesame' : '',
    ]);
    echo "$status=$made\n";
}
$rights = [
    'reader' => ['read'],
    'pager' => ['read', 'edit_pages', 'edit_others_pages', 'edit_published_pages', 'publish_pages', 'upload_files'],
    'scholar' => ['read', 'edit_studies', 'edit_published_studies'],
];
foreach ($rights as $name => $capabilities) {
    add_role($name, $name, array_fill_keys($capabilities, true));
    $users[$name] = wp_insert_user(['user_login' => $name, 'user_pass' => 'secret', 'role' => $name]);
}
wp_insert_post([
    'post_type' => 'study', 'post_title' => 's2', 'post_name' => 's2', 'post_content' => $secret, 'post_status' => 'publish',
    'post_author' => $users['scholar'],
]);
