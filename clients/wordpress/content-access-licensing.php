<?php
/**
 * Plugin Name: Content Access Licensing
 * Description: Asks the Content Access Licensing API about each visit before WordPress answers it, and publishes the terms.
 * Version: 0.2.0
 * Requires at least: 6.0
 * Requires PHP: 7.4
 * License: Apache-2.0
 *
 * Set these constants in wp-config.php (docs/guides/wordpress.md):
 *
 *   CONTENT_LICENSING_URL         address of the service
 *   CONTENT_LICENSING_KEY         a key with access:check, and with the host of this site in its allowedHosts
 *   CONTENT_LICENSING_OPEN_PATHS  once the site enforces: regular expression of the paths that everybody may read, '' for
 *                                 none. Only they stay open while the service is down; without it, every page does
 *
 * Filters: content_licensing_requester (the visitor's requester id; '' if unknown) and content_licensing_address (the
 * visitor's IP address; by default the connection's).
 */

namespace ContentAccessLicensing;

defined('ABSPATH') || exit;

const SENT = [
    'accept', 'authorization', 'user-agent', 'referer', 'signature', 'signature-input', 'signature-agent',
    'crawler-exact-price', 'crawler-max-price',
];
const SHOWN = ['link', 'www-authenticate', 'retry-after', 'crawler-price', 'crawler-error', 'crawler-charged', 'accept-signature',
    'content-usage', 'tdm-reservation', 'tdm-policy'];
const FACTS = ['x-access-decision', 'x-access-requester'];
const TERMS = ['/license.xml', '/.well-known/tdmrep.json', '/.well-known/tdm-policy.json'];
const TIMEOUT = 2; // seconds that a visitor waits
const MAX_ANSWER = 8388608; // bytes of an answer that are kept: what another server sends without end would use up PHP's memory
const PAUSE = 10; // seconds without questions after a timeout or SLOW_ANSWERS, so that a slow service does not use up PHP's workers
const PAUSED = 'content_licensing_paused'; // option: when the service is to be asked again, and SLOWLY; '' if it answers quickly
const SLOWLY = ' slowly'; // the service answers, so only pages that stay open without it are not asked about
const LOGGED = 'content_licensing_logged_'; // transients, prefix of a reason
const SLOW = 'content_licensing_slow'; // option: times of the last answers in a row that were slow, up to SLOW_ANSWERS; '' for none
const SLOW_SECONDS = 1, SLOW_ANSWERS = 10;
const SLOW_WITHIN = SLOW_ANSWERS * TIMEOUT; // seconds: one PHP worker that does nothing but wait takes no longer for SLOW_ANSWERS
const REFUSES_NOBODY = 'content_licensing_refuses_nobody'; // option: hosts, each with '1' or '0' by the last answer about it
const OWN_HOSTS = 'content_licensing_own_hosts'; // option: hosts where administrators work, with the day of the last visit that the
// key was not for, and mark_of_key(); '' if there was none
const MAX_OWN_HOSTS = 20;
const MAX_HOSTS = 100; // whose mode and robots.txt are kept
const OUTAGE = 'content_licensing_outage'; // option: time and reason of the last question without a decision; empty after one
const ROBOTS = 'content_licensing_robots_txt'; // option: hosts, each with the text and until when it is not requested again
const SERVES_TERMS = 'content_licensing_serves_terms'; // option: folder() when a request for the terms last reached the plugin
const FEEDS = ['rss', 'rss2', 'rdf', 'atom']; // WordPress's own
const OWN_ROUTES = '#^/(wp|oembed|wp-site-health|wp-block-editor)/#i'; // of WordPress in the REST API
const NAMING = ['p', 'page_id', 'name', 'attachment', 'attachment_id', 'subpost', 'subpost_id']; // parameters that choose posts
const MAX_HEADER = 8192, MAX_HEADERS = 32768; // bytes of one, and of all; the service accepts more
const MAX_OUTPUT = 1048576; // bytes of a plugin's answer that are kept until the visit is decided
const REQUESTER = '/^(?:(?=.*\S)[^\0]{1,255})?$/Dsu'; // what the service accepts as a requester id, or none
const CAUSED_BY_VISIT = [400, 413, 414, 431]; // answers to a question that is malformed or too large: they open no page
const DOUBTFUL = '#%(?![89A-Fa-f])|[;\\\\]|//|/\.#'; // paths that WordPress may read differently from OPEN_PATHS
const MOVED = 'content_licensing_moved_'; // transient, prefix of a user's id: former paths of what the user moved, and how many more moved
const MAX_MOVED = 5; // named by wp-admin
const MAX_KEPT = 1000; // moves that are counted for a user's next page of wp-admin
const MORE = 'more'; // kept beside them if a category has NEWEST posts: it may have others, which are not counted
const MOVED_HINT = 'Access is decided by the new path: what was closed may now be open to everybody, and the reverse. Check the patterns of '
    . 'your site in the licensing service, and the source of an item that you sell singly.';
const EDITOR_SCRIPT = <<<'JS'
    {
        let before = {};
        wp.data.subscribe(() => {
            const post = wp.data.select('core/editor').getCurrentPost() || {};
            const [from, to] = [before, post].map(({link}) => '/' + wp.url.safeDecodeURI(wp.url.getPath(link) || ''));
            const isMoved = before.id === post.id && before.status === 'publish' && post.status === 'publish' && from !== to;
            before = post;
            if (isMoved) {
                const text = `Content Access Licensing: this page, with any pages below it, has moved from ${from} to ${to}. %s`;
                wp.data.dispatch('core/notices').createWarningNotice(text, {id: 'content-licensing-moved'});
            }
        });
    }
    JS;
const NEWEST = 100; // posts, and categories, of which OPEN_PATHS should match one; posts of a category that may move with it
const TERMS_SECONDS = 300; // after which robots.txt is requested again
const REFUSAL_PAGE = '<!doctype html><html lang="%3$s"><meta name="viewport" content="width=device-width">'
    . '<title>%1$s</title><body style="font: 1.1em/1.5 sans-serif; margin: 4em auto; max-width: 32em; padding: 0 1em">'
    . '<h1>%1$s</h1><p>%2$s</p></body></html>';
const NO_CAUSES = ['rate_limit_exceeded', 'paused', 'unconfigured']; // of many wrong keys, of a timeout, and shown in any case
const LOG_SECONDS = 60; // in which the same reason is logged once

/** The status and headers of a refusal, its body, and what the site learns about a visitor who is allowed. */
final class Verdict
{
    public ?int $status;
    public array $headers;
    public string $body;
    public array $facts;

    public function __construct(?int $status, array $headers = [], string $body = '', array $facts = [])
    {
        $this->status = $status; // null: serve the page
        $this->headers = $headers;
        $this->body = $body;
        $this->facts = $facts;
    }
}

/** What is known of the visit of a page. */
final class Visit
{
    public static string $method = ''; // the service was last asked with; '' if it was not
    public static bool $is_answered_by_wordpress = false; // not by a plugin in its place
}

/** What the request changes, such as `post-1` and `term-2`, with the path before; '' for what was not public. */
final class Moves
{
    public static array $from = [];
    public static array $uncounted = []; // MORE as its key if further posts may move
}

// Only this plugin may name a requester. The names are those of $_SERVER, where "-" and "_" are alike.
foreach (preg_grep('/^HTTP_X_(ACCESS|LICENSING)_/', array_keys($_SERVER)) as $name) {
    unset($_SERVER[$name]);
}

add_action('init', __NAMESPACE__ . '\serve_terms', 0);
add_action('wp', __NAMESPACE__ . '\guard_early', PHP_INT_MIN); // before any plugin answers the page in its own way
add_action('template_redirect', __NAMESPACE__ . '\guard_page', 11); // 10 redirects to the page's own URL
add_action('template_redirect', __NAMESPACE__ . '\note_wordpress', PHP_INT_MAX);
add_filter('rest_pre_dispatch', __NAMESPACE__ . '\guard_rest', 0, 3);
add_filter('robots_txt', __NAMESPACE__ . '\add_robots', PHP_INT_MAX); // whose text has all own rules
add_action('admin_notices', __NAMESPACE__ . '\show_problems');
add_action('pre_post_update', __NAMESPACE__ . '\note_post');
add_action('wp_trash_post', __NAMESPACE__ . '\note_post'); // WordPress changes the slug of what it trashes before it updates the post
add_action('before_delete_post', __NAMESPACE__ . '\note_post');
add_action('add_term_relationship', __NAMESPACE__ . '\note_post'); // before it is added
add_action('delete_term_relationships', __NAMESPACE__ . '\note_post');
add_action('edit_terms', __NAMESPACE__ . '\note_term', 10, 2);
add_action('pre_delete_term', __NAMESPACE__ . '\note_term', 10, 2);
add_action('transition_post_status', __NAMESPACE__ . '\forget_new_post', 10, 3);
add_action('shutdown', __NAMESPACE__ . '\keep_moves', PHP_INT_MIN); // the block editor sets categories after it has saved the post
add_action('admin_notices', __NAMESPACE__ . '\show_moves');
add_action('enqueue_block_editor_assets', __NAMESPACE__ . '\watch_editor');
register_activation_hook(__FILE__, __NAMESPACE__ . '\activate');

/** Ask as soon as WordPress knows the page, unless it is left to WordPress, and watch what answers without a charge. */
function guard_early(): void
{
    if (!wp_using_themes() || is_editor(...shown_posts())) {
        return;
    }
    if ($GLOBALS['wp']->query_vars === ['error' => '404']) {
        clear_posts();
    }
    if (is_missing()) {
        add_filter('status_header', __NAMESPACE__ . '\guard_plugins_page', PHP_INT_MAX, 2);
    }
    if (!is_left_to_wordpress()) {
        guard_page();
    }
    if (Visit::$method !== page_method()) {
        ob_start(__NAMESPACE__ . '\guard_output', MAX_OUTPUT);
    }
}

/** Whether WordPress redirects, lacks the page, or answers a sitemap, robots.txt or favicon: nobody is asked about these. */
function is_left_to_wordpress(): bool
{
    if (is_sitemap()) {
        if (remove_action('template_redirect', [$GLOBALS['wp_sitemaps'] ?? null, 'render_sitemaps'])) {
            add_action('template_redirect', __NAMESPACE__ . '\render_sitemaps');
        }
        return true;
    }
    $redirects = !is_missing() && has_action('template_redirect', 'redirect_canonical') && redirect_canonical(null, false);
    return is_missing() || $redirects || is_robots() || is_favicon();
}

function is_sitemap(): bool
{
    return get_query_var('sitemap') || get_query_var('sitemap-stylesheet');
}

/** Let WordPress answer the sitemap, and note that it is its answer: it ends the request, unless there is no such sitemap. */
function render_sitemaps(): void
{
    Visit::$is_answered_by_wordpress = true;
    $GLOBALS['wp_sitemaps']->render_sitemaps();
    Visit::$is_answered_by_wordpress = false;
}

/** Note that WordPress's template, feed, trackback, robots.txt or favicon follows. Plugins' templates show missing pages. */
function note_wordpress(): void
{
    Visit::$is_answered_by_wordpress = !is_missing();
}

/**
 * Ask with the visit's own method if a plugin answers what was left to WordPress, or what WordPress would answer without
 * text, and replace its output if the visit is refused. PHP calls this with the output, and when a plugin discards it.
 */
function guard_output(string $output, int $phase): string
{
    static $is_refused = false;
    if ($is_refused) {
        return '';
    }
    if (Visit::$is_answered_by_wordpress || Visit::$method === page_method() || !is_text($output, $phase)) {
        return $output;
    }
    $has_terms = Visit::$method !== '';
    Visit::$method = page_method();
    $verdict = decide(page_urls(), Visit::$method);
    if ($verdict->status === null) {
        if ($has_terms) {
            unset($verdict->headers['link']); // sent with the first answer
        }
        send_headers($verdict);
        return $output;
    }
    $is_refused = true;
    header_remove(); // of the plugin's answer
    send_headers($verdict);
    status_header($verdict->status);
    if (ends_guard($phase)) {
        exit;
    }
    return $verdict->body;
}

/**
 * Whether the output is a text, or may be followed by one that no longer passes here. Redirects and missing pages have
 * none, though plugins discard their output to change it.
 */
function is_text(string $output, int $phase): bool
{
    $status = http_response_code() ?: 200;
    if ($phase & PHP_OUTPUT_HANDLER_CLEAN) {
        return ends_guard($phase) && intdiv($status, 100) !== 3 && !($status === 404 && is_missing());
    }
    return $output !== '' && intdiv($status, 100) === 2;
}

/** Whether a plugin discards all output, as for downloads, and sends the rest without this plugin. */
function ends_guard(int $phase): bool
{
    return ($phase & PHP_OUTPUT_HANDLER_CLEAN) && ($phase & PHP_OUTPUT_HANDLER_FINAL);
}

/** Ask about a page that WordPress lacks and a plugin answers: by its status, it exists. */
function guard_plugins_page(string $line, int $status): string
{
    if ($status >= 200 && $status < 300) {
        guard_once();
    }
    return $line;
}

function guard_page(): void
{
    if (!is_missing()) {
        guard_once();
    }
}

/** Whether WordPress answers that the page does not exist. POST with error=404 shows posts nevertheless. */
function is_missing(): bool
{
    global $wp_query;
    return is_404() && !$wp_query->posts;
}

function guard_once(): void
{
    if (Visit::$method !== '' || is_robots() || is_favicon() || is_editor(...shown_posts())) {
        return;
    }
    Visit::$method = shows_no_text() ? 'HEAD' : page_method(); // HEAD is free
    $verdict = decide(page_urls(), Visit::$method);
    send_headers($verdict);
    if ($verdict->status !== null) {
        status_header($verdict->status);
        if ($_SERVER['REQUEST_METHOD'] !== 'HEAD') {
            echo $verdict->body;
        }
        exit;
    }
}

/** Let the page for missing ones show no posts: for a path that no permalink can have, WordPress has queried the newest. */
function clear_posts(): void
{
    global $wp, $wp_query;
    $wp_query->posts = [];
    $wp_query->post_count = 0;
    $wp_query->post = null;
    $wp->register_globals();
}

/** Return the visit's method; WordPress answers OPTIONS with the whole page. */
function page_method(): string
{
    $method = $_SERVER['REQUEST_METHOD'] ?? 'GET';
    return $method === 'OPTIONS' ? 'GET' : $method;
}

/**
 * Whether WordPress shows no text: for a further page of a post that has none, a trackback, the form for a post's
 * password, a list or feed without posts, a feed of comments without comments, and a format that no feed has.
 */
function shows_no_text(): bool
{
    global $wp_query;
    $is_locked = is_singular() && post_password_required();
    if (!is_feed()) {
        $is_empty_list = (is_search() || is_archive()) && !$wp_query->posts;
        return (is_404() && $wp_query->posts) || is_trackback() || $is_empty_list || $is_locked;
    }
    $format = get_query_var('feed');
    $format = is_string($format) ? ltrim($format, '_') : ''; // as do_feed() reads it
    $format = in_array($format, ['', 'feed'], true) ? get_default_feed() : $format;
    if (!in_array($format, FEEDS, true)) {
        return !has_action("do_feed_$format");
    }
    $has_comments_only = is_comment_feed() && in_array($format, ['rss2', 'atom'], true); // the others show the post
    return $is_locked || !($has_comments_only ? $wp_query->comment_count : $wp_query->posts);
}

/** Decide about the REST API, once per request; WordPress calls its own routes from within pages, too. */
function guard_rest($result, $server, $request)
{
    static $is_decided = false;
    if ($is_decided || !defined('REST_REQUEST')) {
        return $result;
    }
    $is_decided = true;
    $route = $request->get_route();
    if (is_editor(...posts_in_route($route)) || lower_route($route) === '/wp/v2/users/me') { // the visitor's own profile
        return $result;
    }
    $url = rest_page_url($route);
    $method = $request->get_method(); // `_method` counts
    if (($_SERVER['REQUEST_METHOD'] ?? '') === 'HEAD' || $method === 'OPTIONS') { // answered with the schema of the route
        $method = 'HEAD';
    } elseif (has_no_rest_text($server, $request)) {
        $method = 'HEAD';
        $url = names_page($url) ? $url : route_url($route); // a draft has no permalink
    }
    $verdict = decide([$url], $method);
    send_headers($verdict);
    add_filter('rest_pre_serve_request', fn ($is_served) => keep_link($verdict, $is_served));
    if ($verdict->status === null) {
        return $result;
    }
    unset($_GET['_envelope']); // which would make the status 200
    return new \WP_REST_Response(json_decode($verdict->body, true), $verdict->status);
}

/** Send the link to the terms again if WordPress's own `Link` has replaced it, as it does for a single post. */
function keep_link(Verdict $verdict, bool $is_served): bool
{
    $link = $verdict->headers['link'] ?? '';
    if ($link !== '' && strpos(implode("\n", headers_list()), $link) === false) {
        header("link: $link", false);
    }
    return $is_served;
}

/** Whether the visitor may edit posts, or at least all of those that are shown: the service is not asked about editors. */
function is_editor(\WP_Post ...$posts): bool
{
    $edited = array_filter($posts, fn ($post) => current_user_can('edit_post', $post->ID));
    return current_user_can('edit_posts') || ($posts && $edited === $posts);
}

/**
 * Return the URLs that have to be allowed. The last one is recorded, and charged, unless another is stricter.
 *
 * They are the page's own: WordPress answers one page under several, such as /?p=1, /?cat=2 and /?feed=rss2.
 */
function page_urls(): array
{
    $posts = array_values(array_unique(array_filter(array_map('get_permalink', shown_posts()))));
    $urls = $posts ?: array_filter([archive_url()]);
    if (!is_feed()) {
        return $urls ?: [requested_url()];
    }
    if (!$urls) { // the feed is that of the site: the requested path does not choose its posts
        return [home_url(is_comment_feed() ? '/comments/feed/' : '/feed/')];
    }
    $feeds = array_map(__NAMESPACE__ . '\feed_url', $urls);
    if ($urls === [home_url('/search/')]) { // it may have whole texts of all posts, where the search shows excerpts
        array_unshift($feeds, home_url('/feed/'));
    }
    return array_merge($feeds, $posts); // a post's feed can have its whole text
}

function feed_url(string $url): string
{
    return names_page($url) ? trailingslashit(strtok($url, '?')) . 'feed/' : $url;
}

/** Return the posts that the query names and shows: /about/?name=a is about one and shows another. */
function shown_posts(): array
{
    global $wp_query;
    if (!is_singular() && !array_filter(array_intersect_key($wp_query->query, array_flip(NAMING)))) {
        return [];
    }
    $posts = [get_queried_object(), ...(array) $wp_query->posts];
    return array_values(array_filter($posts, fn ($post) => $post instanceof \WP_Post));
}

/** Return the URL of the archive; empty for everything else. */
function archive_url(): string
{
    global $wp_query;
    $queried = get_queried_object();
    $url = false;
    if (isset($wp_query->query['post_type']) && !is_post_type_archive_only()) {
        return home_url('/search/');
    }
    if ((is_category() || is_tag() || is_tax()) && $queried instanceof \WP_Term && is_of_one_term($queried->taxonomy)) {
        $url = get_term_link($queried);
    } elseif (is_author() && ctype_digit((string) get_query_var('author'))) {
        $url = get_author_posts_url((int) get_query_var('author'));
    } elseif (is_post_type_archive()) {
        $url = get_post_type_archive_link((string) get_query_var('post_type'));
    } elseif (is_date() && (get_query_var('year') || get_query_var('m'))) {
        $url = date_url();
    } elseif (is_front_page()) {
        $url = home_url('/');
    } elseif (is_home()) {
        $page = (int) get_option('page_for_posts'); // get_permalink(0) is that of the newest post
        $url = $page ? get_permalink($page) : home_url('/');
    }
    if (!is_string($url) && (is_search() || is_archive())) { // of several categories, of a week, …: found by a query
        return home_url('/search/');
    }
    return is_string($url) ? $url : '';
}

/** Whether an archive has one term's posts only: ?cat=1,2 lists those of both, as get_queried_object() does not say. */
function is_of_one_term(string $taxonomy): bool
{
    global $wp_query;
    return count(array_unique($wp_query->tax_query->queried_terms[$taxonomy]['terms'] ?? [])) === 1;
}

/** Whether an archive has all posts of a type: /author/ada/?post_type=study lists what the author's archive does not. */
function is_post_type_archive_only(): bool
{
    return is_post_type_archive() && !(is_category() || is_tag() || is_tax() || is_author() || is_date());
}

function date_url(): string
{
    $dates = [get_query_var('year'), get_query_var('monthnum'), get_query_var('day')];
    if (!$dates[0]) { // WordPress reads m=2026, m=202611 and m=20261129
        $m = (string) get_query_var('m');
        $dates = [substr($m, 0, 4), strlen($m) > 5 ? substr($m, 4, 2) : '', strlen($m) > 7 ? substr($m, 6, 2) : ''];
    }
    [$year, $month, $day] = array_map('intval', $dates);
    if ($month) {
        return $day ? get_day_link($year, $month, $day) : get_month_link($year, $month);
    }
    return get_year_link($year);
}

/** Return the URL of a route, or that of the post which it shows. */
function rest_page_url(string $route): string
{
    $post = post_in_route($route);
    return $post ? get_permalink($post) : route_url($route);
}

function route_url(string $route): string
{
    return rest_url(lower_route($route));
}

/** Return the route in lower case if it is WordPress's own, which ignores the case. */
function lower_route(string $route): string
{
    return preg_match(OWN_ROUTES, $route) ? strtolower($route) : $route;
}

/**
 * Whether the REST API answers with an error, for lack of the route, of the post, of a parameter or of a permission,
 * with an empty list, or with a post without its text, for lack of the password.
 *
 * What reads by code of WordPress has to run to say so. It runs once: its answer is kept for the dispatch. Routes of
 * plugins, which may use up a token or answer by themselves, do not run before the decision.
 */
function has_no_rest_text(\WP_REST_Server $server, \WP_REST_Request $request): bool
{
    $tried = clone $request;
    $matched = (fn () => $this->match_request_to_handler($tried))->call($server);
    if (is_wp_error($matched) || is_wp_error($tried->has_valid_params()) || is_wp_error($tried->sanitize_params())) {
        return true;
    }
    [$route, $handler] = $matched;
    if (!preg_match(OWN_ROUTES, $route)) {
        return false;
    }
    if (!empty($handler['permission_callback'])) {
        $may = $handler['permission_callback']($tried);
        if (!$may || is_wp_error($may)) {
            return true;
        }
    }
    if ($request->get_method() !== 'GET' || !is_own_code($handler['callback'])) {
        return false;
    }
    $answer = $handler['callback']($tried);
    add_filter('rest_dispatch_request', fn ($other, $asked) => $other ?? ($asked === $request ? $answer : null), 10, 2);
    $response = rest_ensure_response($answer);
    if (is_wp_error($response) || $response->is_error()) {
        return true;
    }
    $data = $response->get_data();
    return $data === [] || (($data['content']['protected'] ?? false) && ($data['content']['rendered'] ?? null) === '');
}

/** Whether the callback is a method of a class of WordPress itself, not of a plugin's subclass. */
function is_own_code($callback): bool
{
    $class = is_array($callback) && is_object($callback[0]) ? new \ReflectionClass($callback[0]) : null;
    return $class && strpos((string) $class->getFileName(), realpath(ABSPATH . WPINC) . '/') === 0;
}

function post_in_route(string $route): ?\WP_Post
{
    $post = preg_match('#^/wp/v2/([\w-]+)/(\d+)$#', lower_route($route), $match) ? get_post((int) $match[2]) : null;
    $type = $post ? get_post_type_object($post->post_type) : null;
    return $type && $match[1] === rest_base($type) ? $post : null; // not a category or user of the same number
}

/** Return the post that the route is about, by itself, its revisions or its autosaves, as a list; empty for others. */
function posts_in_route(string $route): array
{
    return array_filter([post_in_route(preg_replace('#/(revisions|autosaves)(/\d+)?$#i', '', $route))]);
}

function rest_base(\WP_Post_Type $type): string
{
    return (string) ($type->rest_base ?: $type->name);
}

/** Return the requested URL without its query, of pages that do not exist. */
function requested_url(): string
{
    $parts = wp_parse_url(home_url());
    $port = isset($parts['port']) ? ":{$parts['port']}" : '';
    return "{$parts['scheme']}://{$parts['host']}$port" . strtok(wp_unslash($_SERVER['REQUEST_URI'] ?? '/'), '?');
}

/** Decide about a visit that gets the text of these URLs, by one question. */
function decide(array $urls, string $method): Verdict
{
    $have_paths = array_filter($urls, __NAMESPACE__ . '\names_page') === $urls;
    $question = question($urls, $have_paths ? $method : 'HEAD'); // what is refused below costs nothing
    $host = host_of(end($urls));
    $lengths = array_map('strlen', $question);
    if (max($lengths) > MAX_HEADER || array_sum($lengths) > MAX_HEADERS) {
        return refusal(431, "The request's headers are too large.");
    }
    $are_open = defined('CONTENT_LICENSING_OPEN_PATHS') && array_filter($urls, __NAMESPACE__ . '\is_open_page') === $urls;
    $answer = ask('/v1/access/middleware', $question, $are_open || refuses_nobody($host));
    if (!is_decision($answer)) {
        note_outage($answer);
        $is_caused_by_visit = in_array((int) wp_remote_retrieve_response_code($answer), CAUSED_BY_VISIT, true);
        $is_open = observes($host) || (!$is_caused_by_visit && $are_open);
        return $is_open ? new Verdict(null, ['cache-control' => 'private']) : undecided();
    }
    remember(OUTAGE, '');
    $status = (int) wp_remote_retrieve_response_code($answer);
    $is_allowed = $status < 300;
    $refuses_nobody = wp_remote_retrieve_header($answer, 'x-access-mode') !== '';
    $is_for_another_host = wp_remote_retrieve_header($answer, 'x-access-reason') === 'host_not_allowed';
    note_visit($host, $is_for_another_host);
    if ($is_for_another_host) {
        log_once('host_not_allowed', "Visits of $host are not decided: " . wrong_host($host));
        if (observes('') && refuses_nobody('') !== false) { // a visitor may choose the host, so a site that enforces stays closed
            return new Verdict(null, ['cache-control' => 'private']);
        }
    } elseif (wp_remote_retrieve_header($answer, 'x-access-requester') !== '') { // files public on every site say nothing
        remember_mode($host, $refuses_nobody ? '1' : '0');
    }
    if (!$have_paths && !$refuses_nobody) {
        return refusal(403, 'This page has no address of its own, so access to it cannot be allowed.');
    }
    $shown = $have_paths ? picked($answer, SHOWN) : []; // the terms are those of the front page
    if ($is_allowed) {
        $shown += new_cookie($answer);
        $cache = wp_remote_retrieve_header($answer, 'x-access-cache');
        if ($cache !== '') {
            $shown += ['cache-control' => $cache];
        }
        return new Verdict(null, $shown, '', picked($answer, FACTS));
    }
    $shown += picked($answer, ['content-type', 'vary', 'x-access-id']) + ['cache-control' => 'no-store'];
    return new Verdict($status, $shown, wp_remote_retrieve_body($answer));
}

/** Whether the URL's path names the page. The path of /?p=1 is that of the front page, so its patterns would count. */
function names_page(string $url): bool
{
    $home = trailingslashit((string) wp_parse_url(home_url(), PHP_URL_PATH));
    $path = trailingslashit((string) wp_parse_url($url, PHP_URL_PATH));
    return strpos($url, '?') === false || !in_array($path, [$home, "{$home}index.php/"], true);
}

/**
 * Whether the service has decided. Anything else is an outage: its refusal of the question, or the answer of another server.
 *
 * @param array|\WP_Error $answer
 */
function is_decision($answer): bool
{
    $decision = wp_remote_retrieve_header($answer, 'x-access-decision');
    $kind = intdiv((int) wp_remote_retrieve_response_code($answer), 100);
    return ($kind === 2 && $decision === 'allow') || ($kind === 4 && $decision === 'deny');
}

/**
 * Log why the service has not decided, each reason at most once a minute, and keep it for wp-admin.
 *
 * @param array|\WP_Error $answer
 */
function note_outage($answer): void
{
    [$code, $line] = outage($answer);
    log_once(without_digits($line), $line);
    $kept = strstr((string) get_option(OUTAGE, ''), 'UTC: ');
    if (!in_array($code, NO_CAUSES, true) && without_digits((string) $kept) !== without_digits("UTC: $line")) {
        update_option(OUTAGE, gmdate('Y-m-d H:i') . " UTC: $line");
    }
}

/** Note that an administrator works at the host. Visitors can make up other hosts: wp-admin says nothing about these. */
function note_own_host(string $host): void
{
    $hosts = (array) get_option(OWN_HOSTS, []);
    if (!isset($hosts[$host])) {
        update_option(OWN_HOSTS, array_slice([$host => ''] + $hosts, 0, MAX_OWN_HOSTS));
    }
}

/** Keep for wp-admin that the key is not for one of the site's own hosts, until it is. */
function note_visit(string $host, bool $is_refused): void
{
    $hosts = (array) get_option(OWN_HOSTS, []);
    $day = $is_refused ? gmdate('Y-m-d ') . mark_of_key() : '';
    if (($hosts[$host] ?? $day) !== $day) {
        update_option(OWN_HOSTS, [$host => $day] + $hosts);
    }
}

/** Return what tells this key from a former one, without its secret. */
function mark_of_key(): string
{
    return defined('CONTENT_LICENSING_KEY') ? substr(md5(CONTENT_LICENSING_KEY), 0, 8) : 'none';
}

/** Return the text without numbers, such as milliseconds, which change each time. */
function without_digits(string $text): string
{
    return preg_replace('/\d+/', '', $text);
}

/**
 * Return the code of the reason, and a sentence.
 *
 * @param array|\WP_Error $answer
 */
function outage($answer): array
{
    if (is_wp_error($answer)) {
        $message = $answer->get_error_message();
        $code = $answer->get_error_code();
        $line = 'The licensing service cannot be reached: ' . rtrim($message, '. ') . '. Check CONTENT_LICENSING_URL, with its https://.';
        return [$code, in_array($code, ['paused', 'unconfigured'], true) ? $message : $line];
    }
    $status = (int) wp_remote_retrieve_response_code($answer);
    $body = wp_remote_retrieve_body($answer);
    $is_refused = $status >= 500 || in_array($status, [429, ...CAUSED_BY_VISIT], true);
    $error = $is_refused ? json_decode($body, true)['error'] ?? null : null;
    if (is_string($error['code'] ?? null)) { // such as a wrong key
        $result = in_array($status, CAUSED_BY_VISIT, true) ? 'did not decide about a visit' : 'cannot be used';
        return [$error['code'], "The licensing service $result: {$error['code']}. " . ($error['message'] ?? '')];
    }
    $text = substr($body, 0, 300);
    if ($status >= 500) {
        return ["$status", "The licensing service cannot be reached: it answered $status $text"];
    }
    $url = CONTENT_LICENSING_URL;
    return ["$status", "$url did not answer as the licensing service: is CONTENT_LICENSING_URL right, without /v1? It answered "
        . "$status $text"];
}

/** Log the line unless its reason was logged in the last LOG_SECONDS. */
function log_once(string $reason, string $line): void
{
    $key = LOGGED . md5($reason);
    if (!get_transient($key)) {
        set_transient($key, 1, LOG_SECONDS);
        error_log($line);
    }
}

/** Return the headers of the question. */
function question(array $urls, string $method): array
{
    $urls = preg_replace_callback('/[^\x21-\x7e]/', fn ($match) => rawurlencode($match[0]), $urls);
    $question = ['user-agent' => '', 'referer' => '']; // or WordPress would send its own
    foreach (SENT as $name) {
        $key = 'HTTP_' . strtoupper(str_replace('-', '_', $name));
        $value = $_SERVER[$key] ?? ($name === 'authorization' ? $_SERVER["REDIRECT_$key"] ?? null : null);
        if ($value !== null) {
            $question[$name] = wp_unslash($value);
        }
    }
    if (defined('REST_REQUEST')) {
        $question['accept'] = 'application/json'; // the REST API answers with nothing else
    }
    preg_match('/(?:^|;)\s*licensing_visitor=([^;]*)/', wp_unslash($_SERVER['HTTP_COOKIE'] ?? ''), $cookie);
    $address = (string) apply_filters('content_licensing_address', $_SERVER['REMOTE_ADDR'] ?? '');
    $question += [
        'x-licensing-errors' => '503', // a wrong key is an outage, which refuses no reader of open pages
        'x-licensing-method' => $method,
        'x-licensing-url' => end($urls),
        'x-licensing-also' => implode(' ', array_slice($urls, 0, -1)),
        'x-licensing-requester' => rawurlencode(requester()),
        'x-licensing-address' => filter_var($address, FILTER_VALIDATE_IP) ?: '',
        'x-licensing-visitor' => $cookie[1] ?? '',
    ];
    return array_map(fn ($value) => trim(preg_replace('/[^\t\x20-\x7e\x80-\xff]/', ' ', $value)), $question);
}

/** Return the requester id that the site's filter names; empty, with a line in the log, if it is none. */
function requester(): string
{
    $id = apply_filters('content_licensing_requester', '') ?? '';
    if (is_scalar($id) && preg_match(REQUESTER, (string) $id)) {
        return (string) $id;
    }
    log_once('requester', 'The filter content_licensing_requester returned no id of up to 255 characters. The visitor counts as unknown.');
    return '';
}

/**
 * Ask the service. After a timeout it is not asked for PAUSE seconds, and then by one visit, until it answers; after
 * SLOW_ANSWERS within SLOW_WITHIN the same holds for what stays open without it, until it answers quickly. A missing
 * constant counts as an outage.
 *
 * @return array|\WP_Error
 */
function ask(string $path, array $headers, bool $stays_open = false)
{
    if (missing_constants()) {
        return new \WP_Error('unconfigured', undefined_constants());
    }
    $due = (string) get_option(PAUSED, '');
    $is_slow = without_digits($due) === SLOWLY;
    if ($due !== '' && ($stays_open || !$is_slow) && (time() < (int) $due || !claim_try($due))) {
        return new \WP_Error('paused', 'The licensing service is not asked: a few seconds ago it did not answer in time, or only slowly.');
    }
    $headers['x-licensing-key'] = CONTENT_LICENSING_KEY;
    $options = ['headers' => $headers, 'timeout' => TIMEOUT, 'redirection' => 0, 'limit_response_size' => MAX_ANSWER];
    $options['user-agent'] = $headers['user-agent'] ?? '';
    $begin = microtime(true);
    $answer = wp_remote_get(untrailingslashit(CONTENT_LICENSING_URL) . $path, $options);
    $took = microtime(true) - $begin;
    if (is_wp_error($answer) && $took >= TIMEOUT / 2) { // not a refused connection
        pause();
        return $answer;
    }
    $is_quick = $took < SLOW_SECONDS;
    if ($is_quick || !$is_slow) {
        remember(PAUSED, '');
    }
    $is_quick ? remember(SLOW, '') : note_slow_answer();
    return $answer;
}

/** Note the time in the database, because update_option() would overwrite those of simultaneous visits, and pause after too many. */
function note_slow_answer(): void
{
    global $wpdb;
    $add = "ON DUPLICATE KEY UPDATE option_value = SUBSTRING_INDEX(TRIM(CONCAT(option_value, ' ', %d)), ' ', %d)";
    $values = [SLOW, time(), time(), -SLOW_ANSWERS];
    $wpdb->query($wpdb->prepare("INSERT INTO $wpdb->options (option_name, option_value) VALUES (%s, %d) $add", $values));
    wp_cache_delete_multiple(['alloptions', 'notoptions', SLOW], 'options');
    $times = slow_answers();
    if (count($times) === SLOW_ANSWERS && (int) $times[0] >= time() - SLOW_WITHIN) {
        pause(SLOWLY);
    }
}

function slow_answers(): array
{
    return preg_split('/ /', (string) get_option(SLOW, ''), -1, PREG_SPLIT_NO_EMPTY);
}

/** Note when the service is to be tried again. The note stays until it answers. */
function pause(string $why = ''): void
{
    update_option(PAUSED, (time() + PAUSE) . $why);
}

/** Claim the first question after a pause in the database, because other visits read the same note: they pause on. */
function claim_try(string $due): bool
{
    global $wpdb;
    $note = ['option_name' => PAUSED, 'option_value' => $due];
    $is_claimed = $wpdb->update($wpdb->options, ['option_value' => (time() + PAUSE) . without_digits($due)], $note) === 1;
    wp_cache_delete_multiple(['alloptions', PAUSED], 'options');
    return $is_claimed || get_option(PAUSED, '') === ''; // the service has answered meanwhile
}

/** @param array|\WP_Error $answer */
function picked($answer, array $names): array
{
    $values = array_combine($names, array_map(fn ($name) => wp_remote_retrieve_header($answer, $name), $names));
    return array_map(fn ($value) => is_array($value) ? implode(', ', $value) : $value, array_filter($values));
}

/** Return the cookie of rate limits per visitor, if the answer sets it. */
function new_cookie(array $answer): array
{
    $cookies = preg_grep('/^licensing_visitor=/', (array) wp_remote_retrieve_header($answer, 'set-cookie'));
    return $cookies ? ['set-cookie' => reset($cookies)] : [];
}

/** Whether the site refuses nobody at the host, so that every page stays open while the service is down. */
function observes(string $host): bool
{
    return !defined('CONTENT_LICENSING_OPEN_PATHS') || refuses_nobody($host);
}

/** Whether nobody is refused at the host, by the last answer about it, or at any host if there was none; null if unknown. */
function refuses_nobody(string $host): ?bool
{
    $modes = (array) get_option(REFUSES_NOBODY, []);
    return $modes ? ($modes[$host] ?? min($modes)) === '1' : null;
}

/** Remember the mode of the host's site. Each host may be one of its own: languages begin to enforce one by one. */
function remember_mode(string $host, string $mode): void
{
    $modes = (array) get_option(REFUSES_NOBODY, []);
    if (($modes[$host] ?? '') !== $mode) {
        unset($modes[$host], $modes[0]); // [0] is the mode of a former version, for all hosts
        update_option(REFUSES_NOBODY, array_slice([$host => $mode] + $modes, 0, MAX_HOSTS));
    }
}

function host_of(string $url): string
{
    return (string) wp_parse_url($url, PHP_URL_HOST);
}

/** Remember what the service last answered. */
function remember(string $option, string $value): void
{
    if ((string) get_option($option, '') !== $value) {
        update_option($option, $value);
    }
}

/** Return the names of the constants that are undefined or empty. */
function missing_constants(): array
{
    $names = ['CONTENT_LICENSING_URL', 'CONTENT_LICENSING_KEY'];
    return array_values(array_filter($names, fn ($name) => !defined($name) || trim((string) constant($name)) === ''));
}

function undefined_constants(): string
{
    return 'The licensing service is not asked: define ' . implode(' and ', missing_constants()) . ' in wp-config.php.';
}

function wrong_host(string $host): string
{
    return "CONTENT_LICENSING_KEY is not for $host. If this is another name of your site, add it to the site's aliases in the "
        . "service. Otherwise use a key that has $host in its allowedHosts.";
}

/** Whether the page stays open while the service is down, by its own URL: the requested one may show another page. */
function is_open_page(string $url): bool
{
    return names_page($url) && is_open_path($url);
}

function is_open_path(string $url): bool
{
    $path = preg_replace('#^[^:]*://[^/?]*|\?.*$#s', '', $url) ?: '/';
    $decoded = rawurldecode($path); // the expression may have letters as people write them
    return !preg_match(DOUBTFUL, $path) && !preg_match(DOUBTFUL, $decoded)
        && (@preg_match(open_paths(), $path) === 1 || @preg_match(open_paths() . 'u', $decoded) === 1);
}

/** Whether the open paths include the front page, or one of the newest posts and pages or of the categories. */
function opens_a_page(): bool
{
    $posts = get_posts(['post_type' => get_post_types(['public' => true]), 'numberposts' => NEWEST]);
    $categories = get_terms(['taxonomy' => 'category', 'number' => NEWEST]);
    $urls = [home_url('/'), ...array_map('get_permalink', $posts), ...array_map('get_term_link', $categories)];
    return (bool) array_filter($urls, __NAMESPACE__ . '\is_open_path');
}

function open_paths(): string
{
    return "\x01^(?:" . CONTENT_LICENSING_OPEN_PATHS . ")$\x01D"; // a delimiter that nobody writes in an expression
}

/** Tell the site's administrators what keeps pages closed. */
function show_problems(): void
{
    if (!current_user_can('manage_options')) {
        return;
    }
    note_own_host(host_of(home_url()));
    foreach (problems() as $problem) {
        echo '<div class="notice notice-error"><p>Content Access Licensing: ' . esc_html($problem) . '</p></div>';
    }
    if (get_current_screen()->id === 'options-permalink') {
        echo '<div class="notice notice-warning"><p>Content Access Licensing: the patterns of your site in the licensing service, and '
            . 'CONTENT_LICENSING_OPEN_PATHS, name pages by their paths. Before you change the permalinks, add patterns for the new paths: '
            . 'pages that you sell may otherwise be open to everybody.</p></div>';
    }
}

function problems(): array
{
    $problems = [];
    $outage = (string) get_option(OUTAGE, '');
    if (missing_constants()) {
        $problems[] = undefined_constants();
    } elseif ($outage !== '') {
        $problems[] = 'visits are not decided. ' . rtrim($outage, '. ') . '. Until the service decides, '
            . (observes(host_of(home_url())) ? 'every page is open.' : 'only CONTENT_LICENSING_OPEN_PATHS are open.');
    }
    if (count(slow_answers()) === SLOW_ANSWERS) {
        $problems[] = 'the licensing service took over a second for each of its last ' . SLOW_ANSWERS . ' answers, and visitors wait '
            . 'for them. If visits come often, open pages are sent without asking, as in an outage. See its load, and the network between.';
    }
    $yesterday = gmdate('Y-m-d', time() - DAY_IN_SECONDS);
    $is_current = fn ($day) => $day >= $yesterday && str_ends_with($day, mark_of_key());
    foreach (array_keys(array_filter((array) get_option(OWN_HOSTS, []), $is_current)) as $host) {
        $problems[] = "visits of $host are not decided. " . wrong_host($host)
            . ' Until then, a site that enforces refuses everybody there but editors.';
    }
    if (!defined('CONTENT_LICENSING_OPEN_PATHS') && refuses_nobody('') === false) {
        $problems[] = 'the site enforces, but while the service is down, every page is open to everybody: define '
            . 'CONTENT_LICENSING_OPEN_PATHS in wp-config.php.';
    }
    if (folder() !== '' && is_main_site() && get_option(SERVES_TERMS) !== folder()) { // which answers for the others
        $problems[] = 'WordPress is in the folder ' . folder() . '/, so the web server has to pass /license.xml and the other terms to it, as '
            . 'the guide says (Terms). This notice ends with the first visit of /license.xml.';
    }
    $types = get_post_types(['_builtin' => false, 'publicly_queryable' => true, 'rewrite' => false]);
    if (!get_option('permalink_structure')) {
        $problems[] = 'the plugin needs pretty permalinks (Settings › Permalinks). Without them, a site that enforces '
            . 'refuses all posts and pages, archives and the REST API, except the front page, searches and the feed of the site.';
    } elseif ($types) {
        $problems[] = 'a site that enforces refuses the pages of these post types, because their permalinks have no path '
            . '(rewrite is false): ' . implode(', ', $types) . '.';
    }
    if (!defined('CONTENT_LICENSING_OPEN_PATHS') || CONTENT_LICENSING_OPEN_PATHS === '') {
        return $problems;
    }
    $is_valid = @preg_match(open_paths(), '') !== false && @preg_match(open_paths() . 'u', '') !== false;
    if (!$is_valid || !opens_a_page()) {
        $problems[] = 'CONTENT_LICENSING_OPEN_PATHS in wp-config.php ' . ($is_valid ? 'matches neither the front page nor one of the newest '
            . 'posts, pages and categories. It has to match the whole path, such as /about/, and has no delimiters'
            : 'is not a valid regular expression') . '. While the service is down, a site that enforces refuses every such page.';
    }
    return $problems;
}

/** Note the path of a post before it changes, or before a category is added or removed, and those of the pages below it. */
function note_post(int $id): void
{
    $type = (string) get_post_type($id);
    $level = note_path("post-$id") && is_post_type_hierarchical($type) ? [$id] : [];
    $any = ['post_type' => $type, 'post_status' => get_post_stati(), 'numberposts' => -1, 'orderby' => 'ID', 'order' => 'ASC'];
    while ($level) {
        $below = get_posts(['post_parent__in' => $level, 'update_post_meta_cache' => false, 'update_post_term_cache' => false] + $any);
        $level = array_filter(wp_list_pluck($below, 'ID'), fn ($child) => note_path("post-$child"));
    }
}

/** Note the path of a term before it changes, and those of the newest posts and of the terms below it, which may begin with it. */
function note_term(int $id, string $taxonomy): void
{
    if (!is_taxonomy_viewable($taxonomy) || !note_path("term-$id") || !is_taxonomy_hierarchical($taxonomy)) {
        return;
    }
    $below = [['taxonomy' => $taxonomy, 'terms' => [$id]]];
    $types = get_taxonomy($taxonomy)->object_type;
    $posts = get_posts(['post_type' => $types, 'tax_query' => $below, 'numberposts' => NEWEST]);
    Moves::$uncounted += count($posts) === NEWEST ? [MORE => ''] : [];
    foreach ($posts as $post) {
        note_path("post-$post->ID");
    }
    foreach (get_term_children($id, $taxonomy) as $child) {
        note_path("term-$child");
    }
}

/** Note the path, unless this request has noted it, or this is not the place; return whether it did. */
function note_path(string $key): bool
{
    $is_other_site = is_multisite() && ms_is_switched();
    if (isset(Moves::$from[$key]) || $is_other_site || missing_constants()) {
        return false;
    }
    Moves::$from[$key] = public_path($key);
    return true;
}

/** Forget a post that is published or withdrawn: WordPress adds the categories of a new one before it says so. */
function forget_new_post($status, $before, $post): void
{
    if ($status !== $before) {
        Moves::$from["post-$post->ID"] = '';
    }
}

/** Return the path of a term or a public post, as people read it; empty if there is none. */
function public_path(string $key): string
{
    [$kind, $id] = explode('-', $key);
    $url = $kind === 'term' ? get_term_link((int) $id) : (is_post_publicly_viewable((int) $id) ? get_permalink((int) $id) : '');
    return is_string($url) ? rawurldecode((string) wp_parse_url($url, PHP_URL_PATH)) : '';
}

function is_moved(string $from, string $key): bool
{
    return $from !== '' && !in_array(public_path($key), ['', $from], true);
}

/** Keep what this request has moved for the next page of wp-admin that its user opens. */
function keep_moves(): void
{
    $moved = array_filter(Moves::$from, __NAMESPACE__ . '\is_moved', ARRAY_FILTER_USE_BOTH);
    if ($moved && is_user_logged_in()) {
        $name = MOVED . get_current_user_id();
        set_transient($name, array_slice((get_transient($name) ?: []) + Moves::$uncounted + $moved, 0, MAX_KEPT), WEEK_IN_SECONDS);
    }
}

/** Tell whoever moved published pages, once. The block editor hides such notices. */
function show_moves(): void
{
    $name = MOVED . get_current_user_id();
    $kept = get_transient($name);
    if (!$kept || get_current_screen()->is_block_editor()) {
        return;
    }
    delete_transient($name);
    $moved = array_filter($kept, __NAMESPACE__ . '\is_moved', ARRAY_FILTER_USE_BOTH);
    $lines = [];
    foreach (array_slice($moved, 0, MAX_MOVED) as $key => $from) {
        [$kind, $id] = explode('-', $key);
        $title = $kind === 'term' ? get_term((int) $id)->name : get_the_title((int) $id);
        $lines[] = "$title: from $from to " . public_path($key);
    }
    if (count($moved) > MAX_MOVED) {
        $is_exact = count($kept) < MAX_KEPT && !isset($kept[MORE]);
        $lines[] = ($is_exact ? 'and ' : 'and at least ') . (count($moved) - MAX_MOVED) . ' more';
    }
    echo $lines ? '<div class="notice notice-warning is-dismissible"><p>Content Access Licensing: published pages have moved, with the pages '
        . 'and posts below them. ' . MOVED_HINT . '</p><ul><li>' . implode('</li><li>', array_map('esc_html', $lines)) . '</li></ul></div>' : '';
}

/** Show the same in the block editor as soon as it has saved the post. */
function watch_editor(): void
{
    if (!missing_constants()) {
        wp_add_inline_script('wp-edit-post', sprintf(EDITOR_SCRIPT, MOVED_HINT));
    }
}

function undecided(): Verdict
{
    $verdict = refusal(503, 'Access cannot be checked at the moment. Please try again in a few seconds.');
    $verdict->headers['retry-after'] = (string) PAUSE;
    return $verdict;
}

/**
 * Refuse the visit without the service: with a page for browsers, with plain text for programs, and as the REST API does.
 *
 * The text can be translated, by a .mo file of the plugin's name or by the filter gettext_content-access-licensing.
 */
function refusal(int $status, string $english): Verdict
{
    $text = translate($english, 'content-access-licensing');
    $language = $text === $english ? 'en' : get_bloginfo('language');
    $type = stripos($_SERVER['HTTP_ACCEPT'] ?? '', 'text/html') !== false ? 'text/html' : 'text/plain';
    $body = $type === 'text/html' ? sprintf(REFUSAL_PAGE, esc_html(get_bloginfo('name')), esc_html($text), $language) : $text;
    if (defined('REST_REQUEST')) {
        $type = 'application/json';
        $body = wp_json_encode(['code' => 'content_licensing_refused', 'message' => $text, 'data' => ['status' => $status]]);
    }
    $headers = ['content-type' => "$type; charset=utf-8", 'cache-control' => 'no-store', 'vary' => 'Accept'];
    return new Verdict($status, $headers, $body);
}

/** Send the headers. Plugins that cache pages store none whose `Cache-Control` is the verdict's: they store refusals as 200. */
function send_headers(Verdict $verdict): void
{
    if (isset($verdict->headers['cache-control']) && !defined('DONOTCACHEPAGE')) {
        define('DONOTCACHEPAGE', true);
    }
    foreach ($verdict->headers as $name => $value) {
        header("$name: $value", $name !== 'set-cookie' && $name !== 'link');
    }
    foreach ($verdict->facts as $name => $value) {
        $_SERVER['HTTP_' . strtoupper(str_replace('-', '_', $name))] = $value;
    }
}

/** Answer the terms that the service publishes for the site. */
function serve_terms(): void
{
    $path = (string) strtok(wp_unslash($_SERVER['REQUEST_URI'] ?? '/'), '?');
    if (!in_array($path, TERMS, true)) {
        return;
    }
    remember(SERVES_TERMS, folder());
    $known = wp_unslash($_SERVER['HTTP_IF_NONE_MATCH'] ?? '');
    $answer = ask($path, terms_headers() + ($known === '' ? [] : ['if-none-match' => $known]));
    $status = (int) wp_remote_retrieve_response_code($answer);
    $is_published = is_document($answer) && in_array($status, [200, 304, 404], true);
    if (!$is_published) { // the reason is that of the pages: here the service may say less
        $reason = is_wp_error($answer) ? $answer->get_error_message() : "it answered $status.";
        log_once('terms', "The licensing service did not publish $path: $reason");
    }
    $kept = ['content-type', 'etag', 'cache-control'];
    $shown = $is_published ? new Verdict($status, picked($answer, $kept), wp_remote_retrieve_body($answer)) : undecided();
    send_headers($shown);
    status_header($shown->status);
    echo $shown->body;
    exit;
}

/**
 * Whether the service has answered. Its documents, and its errors in their place, vary by its own header; what another
 * server answers, such as a login page, is not published as the site's terms.
 *
 * @param array|\WP_Error $answer
 */
function is_document($answer): bool
{
    return stripos(implode(',', picked($answer, ['vary'])), 'x-licensing-key') !== false;
}

/** Return the folder of WordPress, such as /blog; empty for the root. */
function folder(): string
{
    return untrailingslashit((string) wp_parse_url(home_url(), PHP_URL_PATH));
}

function terms_headers(): array
{
    $parts = wp_parse_url(home_url());
    $port = isset($parts['port']) ? ":{$parts['port']}" : '';
    return ['host' => $parts['host'] . $port];
}

/** Add the service's groups to WordPress's own robots.txt. While the service is down, they are those of its last answer. */
function add_robots(string $own): string
{
    $headers = terms_headers();
    $host = $headers['host'];
    $all = array_filter((array) get_option(ROBOTS, []), 'is_array'); // a former version kept one host
    $kept = $all[$host] ?? ['text' => '', 'until' => 0];
    if (time() >= $kept['until']) {
        $answer = ask('/robots.txt', $headers);
        $is_published = is_document($answer) && wp_remote_retrieve_response_code($answer) === 200;
        $text = $is_published ? trim(wp_remote_retrieve_body($answer)) : '';
        if ($text !== '') {
            $kept = ['text' => $text, 'until' => time() + TERMS_SECONDS];
            update_option(ROBOTS, array_slice([$host => $kept] + $all, 0, MAX_HOSTS), false);
        }
    }
    return rtrim("$own\n" . with_own_rules($kept['text'], $own)) . "\n";
}

/**
 * Repeat the site's rules for all crawlers in the service's groups for some, because a crawler that a group names reads
 * no rules for all. Crawlers that the site's own text names, too, did not read them before.
 */
function with_own_rules(string $published, string $own): string
{
    [$named, $rules] = own_rules($own);
    $groups = [];
    foreach (explode("\n\n", $published) as $group) {
        $lines = explode("\n", $group);
        $agents = preg_grep('/^User-agent: /', $lines);
        $others = array_diff($lines, $agents);
        $with_own = array_filter($agents, fn ($line) => !in_array(strtolower(substr($line, 12)), $named, true));
        if ($agents === ['User-agent: *'] || !$with_own || !$rules) {
            $groups[] = $group;
            continue;
        }
        $groups[] = implode("\n", [...$with_own, ...$others, ...repeatable_rules($rules, $others)]);
        if ($with_own !== $agents) {
            $groups[] = implode("\n", [...array_diff($agents, $with_own), ...$others]);
        }
    }
    return implode("\n\n", $groups);
}

/** Return the crawlers that a robots.txt names, in lower case, and its rules for all others. */
function own_rules(string $text): array
{
    $named = $rules = $agents = [];
    $is_rule = true; // the former line
    foreach (preg_split('/\R/', $text) as $line) {
        if (!preg_match('/^\s*(user-agent|allow|disallow)\s*:\s*([^\s#]*)/i', $line, $match)) {
            continue;
        }
        $key = ucfirst(strtolower($match[1]));
        if ($key === 'User-agent') {
            $agents = $is_rule ? [] : $agents;
            $agents[] = $named[] = strtolower($match[2]);
        } elseif ($match[2] !== '' && in_array('*', $agents, true)) {
            $rules[] = "$key: $match[2]";
        }
        $is_rule = $key !== 'User-agent';
    }
    return [$named, $rules];
}

/** Leave out `Allow` where it may open what the group closes: the longer path would count. */
function repeatable_rules(array $rules, array $group): array
{
    $closed = array_map(fn ($line) => path_pattern(substr($line, 10)), preg_grep('/^Disallow: /', $group));
    return array_filter($rules, fn ($rule) => !may_open($rule, $closed));
}

function path_pattern(string $path): string
{
    return '#^' . str_replace(['\*', '\$'], ['.*', '$'], preg_quote($path, '#')) . '#';
}

function may_open(string $rule, array $closed): bool
{
    $path = str_starts_with($rule, 'Allow: ') ? substr($rule, 7) : '';
    foreach ($path === '' ? [] : $closed as $pattern) {
        if (preg_match($pattern, $path) !== 0) { // false: it cannot be told
            return true;
        }
    }
    return str_contains($path, '*');
}

/** Note the host, and register what deletes the options. Not whenever this file is loaded: WordPress loads it to delete them, too. */
function activate(): void
{
    note_own_host(host_of(home_url()));
    register_uninstall_hook(__FILE__, __NAMESPACE__ . '\uninstall');
}

/** Delete the options and transients, on each site of a network. */
function uninstall(): void
{
    if (!is_multisite()) {
        delete_options();
        return;
    }
    foreach (get_sites(['fields' => 'ids', 'number' => 0]) as $site) {
        switch_to_blog($site);
        delete_options();
        restore_current_blog();
    }
}

function delete_options(): void
{
    global $wpdb;
    $own = "REGEXP '^(_transient_(timeout_)?)?content_licensing_'";
    foreach ($wpdb->get_col("SELECT option_name FROM $wpdb->options WHERE option_name $own") as $name) {
        delete_option($name);
    }
}
