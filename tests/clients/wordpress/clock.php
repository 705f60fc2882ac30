<?php
/**
 * Let the plugin's clock be ?later seconds ahead, or stand at ?now, each answer take ?took seconds, and its requests fail
 * with the message ?failure. With ?meanwhile, another visit takes place after WordPress has read its options.
 */

namespace ContentAccessLicensing;

function time(): int
{
    return (int) ($_GET['now'] ?? \time() + (int) ($_GET['later'] ?? 0));
}

function microtime(): float
{
    static $passed = 0;
    return \microtime(true) + $passed++ * (float) ($_GET['took'] ?? 0);
}

add_action('init', function () {
    if (isset($_GET['meanwhile'])) {
        $other = "http://127.0.0.1:$_SERVER[SERVER_PORT]/free/free-post/?later=$_GET[later]";
        wp_remote_get($other, ['headers' => ['Host' => $_SERVER['HTTP_HOST']], 'timeout' => 60]);
    }
});
add_filter('pre_http_request', function ($answer) {
    return isset($_GET['failure']) ? new \WP_Error('http_request_failed', $_GET['failure']) : $answer;
});
