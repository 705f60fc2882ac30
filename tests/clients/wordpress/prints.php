<?php
/**
 * Answer every page with the premium post, as plugins for printing do. ?print is the action that answers. With ?discards
 * it discards what was printed before, as downloads do; with ?code it sets the status by PHP alone. The page for missing
 * ones lists posts, as in themes that have no template for it.
 */

foreach (['wp', 'template_redirect'] as $action) {
    add_action($action, function () use ($action) {
        if (($_GET['print'] ?? '') === $action) {
            while (isset($_GET['discards']) && ob_get_level()) {
                ob_end_clean();
            }
            is_404() && (isset($_GET['code']) ? header('HTTP/1.1 200 OK') : status_header(200));
            echo get_page_by_path('premium-post', OBJECT, 'post')->post_content;
            exit;
        }
    }, 1);
}

add_filter('template_include', function ($template) {
    for (; is_404() && have_posts(); the_content()) {
        the_post();
    }
    return $template;
});

add_action('shutdown', function () { // as plugins do that change all that is printed
    if (isset($_GET['changes'])) {
        echo ob_get_clean();
    }
}, 0);
