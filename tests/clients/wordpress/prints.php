<?php
/** Answer every page with the premium post, as plugins for printing do. ?print is the action that answers. */

foreach (['wp', 'template_redirect'] as $action) {
    add_action($action, function () use ($action) {
        if (($_GET['print'] ?? '') === $action) {
            is_404() && status_header(200);
            echo get_page_by_path('premium-post', OBJECT, 'post')->post_content;
            exit;
        }
    }, 1);
}
