<?php
/** Add a type of posts, and one whose permalinks have no path. With ?plain, no permalink has one; with ?lang, each has a query. With ?blog, /about/ lists the posts. */

add_action('init', function () {
    $shown = ['public' => true, 'show_in_rest' => true, 'supports' => ['title', 'editor', 'comments']];
    register_post_type('study', $shown + ['capability_type' => ['study', 'studies'], 'map_meta_cap' => true]);
    register_post_type('memo', $shown + ['rewrite' => false]);
});
add_filter('post_link', fn ($url) => isset($_GET['lang']) ? add_query_arg('lang', 'de', $url) : $url);
add_filter('pre_option_permalink_structure', fn ($structure) => isset($_GET['plain']) ? '' : $structure);
add_filter('pre_option_show_on_front', fn ($shown) => isset($_GET['blog']) ? 'page' : $shown);
add_filter('pre_option_page_for_posts', fn ($page) => isset($_GET['blog']) ? get_page_by_path('about')->ID : $page);
