<?php
/**
 * Plugin Name: Content Access Licensing
 * Description: Asks the Content Access Licensing API about each visit before WordPress answers it, and publishes the terms.
 * Requires at least: 6.0
 * Requires PHP: 7.4
 * License: Apache-2.0
 *
 * Set these constants in wp-config.php (docs/guides/wordpress.md):
 *
 *   CONTENT_LICENSING_URL         address of the service
 *   CONTENT_LICENSING_KEY         a key with access:check and allowedHosts
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
const PAUSE = 10; // seconds without questions after a timeout, so that a stalled service does not use up PHP's workers
const PAUSED = 'content_licensing_paused'; // transient
const MAX_HEADER = 8192, MAX_HEADERS = 32768; // bytes of one, and of all; the service accepts more
const DOUBTFUL = '#%(?![89A-Fa-f])|[;\\\\]|//|/\.#'; // paths that WordPress may read differently from OPEN_PATHS
const TERMS_SECONDS = 300; // that robots.txt is kept

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

// Only this plugin may name a requester. The names are those of $_SERVER, where "-" and "_" are alike.
foreach (preg_grep('/^HTTP_X_(ACCESS|LICENSING)_/', array_keys($_SERVER)) as $name) {
    unset($_SERVER[$name]);
}

add_action('init', __NAMESPACE__ . '\serve_terms', 0);
add_action('template_redirect', __NAMESPACE__ . '\guard_page', 11); // 10 redirects to the page's own URL
add_filter('rest_pre_dispatch', __NAMESPACE__ . '\guard_rest', 0, 3);
add_filter('robots_txt', __NAMESPACE__ . '\add_robots');

function guard_page(): void
{
    if (is_robots() || is_favicon() || is_editor()) {
        return;
    }
    $method = $_SERVER['REQUEST_METHOD'] ?? 'GET';
    $verdict = decide(page_url(), $method === 'OPTIONS' ? 'GET' : $method); // WordPress answers it with the whole page
    send_headers($verdict);
    if ($verdict->status !== null) {
        status_header($verdict->status);
        if ($_SERVER['REQUEST_METHOD'] !== 'HEAD') {
            echo $verdict->body;
        }
        exit;
    }
}

/** Decide about the REST API, once per request; WordPress calls its own routes from within pages, too. */
function guard_rest($result, $server, $request)
{
    static $is_decided = false;
    if ($is_decided || !defined('REST_REQUEST') || is_editor()) {
        return $result;
    }
    $is_decided = true;
    $is_head = ($_SERVER['REQUEST_METHOD'] ?? '') === 'HEAD';
    $method = $request->get_method(); // `_method` counts
    $gets_no_text = $is_head || $method === 'OPTIONS'; // the REST API answers it with the schema of the route
    $verdict = decide(rest_page_url($request->get_route()), $gets_no_text ? 'HEAD' : $method);
    send_headers($verdict);
    if ($verdict->status === null) {
        return $result;
    }
    $body = json_decode($verdict->body, true);
    return new \WP_REST_Response($body ?? ['message' => wp_strip_all_tags($verdict->body)], $verdict->status);
}

/** Whether the visitor works on the site: its editors are never asked about. */
function is_editor(): bool
{
    return current_user_can('edit_posts');
}

/** Return the page's own URL: WordPress answers one page under several, such as /?p=1, /?cat=2 and /?feed=rss2. */
function page_url(): string
{
    $url = own_url();
    if (is_feed()) { // without a page, the feed is that of the site: the requested path does not choose its posts
        return $url ? trailingslashit($url) . 'feed/' : home_url(is_comment_feed() ? '/comments/feed/' : '/feed/');
    }
    return $url ?: requested_url();
}

/** Return the URL of the post or archive; empty for everything else. */
function own_url(): string
{
    $queried = get_queried_object();
    $url = false;
    if (is_singular() && $queried instanceof \WP_Post) {
        $url = get_permalink($queried);
    } elseif ((is_category() || is_tag() || is_tax()) && $queried instanceof \WP_Term && is_of_one_term($queried->taxonomy)) {
        $url = get_term_link($queried);
    } elseif (is_author() && ctype_digit((string) get_query_var('author'))) {
        $url = get_author_posts_url((int) get_query_var('author'));
    } elseif (is_post_type_archive()) {
        $url = get_post_type_archive_link((string) get_query_var('post_type'));
    } elseif (is_date() && get_query_var('year')) {
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

function date_url(): string
{
    [$year, $month, $day] = array_map('intval', [get_query_var('year'), get_query_var('monthnum'), get_query_var('day')]);
    if ($month) {
        return $day ? get_day_link($year, $month, $day) : get_month_link($year, $month);
    }
    return get_year_link($year);
}

/** Return the URL of a route, or that of the post which it shows. */
function rest_page_url(string $route): string
{
    $route = preg_match('#^/wp/#i', $route) ? strtolower($route) : $route; // WordPress ignores the case of routes
    $post = preg_match('#^/wp/v2/([\w-]+)/(\d+)$#', $route, $found) ? get_post((int) $found[2]) : null;
    $type = $post ? get_post_type_object($post->post_type) : null;
    if ($type && $found[1] === ($type->rest_base ?: $type->name)) { // not a category or user of the same number
        return get_permalink($post);
    }
    return rest_url($route);
}

function requested_url(): string
{
    $parts = wp_parse_url(home_url());
    $port = isset($parts['port']) ? ":{$parts['port']}" : '';
    return "{$parts['scheme']}://{$parts['host']}$port" . wp_unslash($_SERVER['REQUEST_URI'] ?? '/');
}

function decide(string $url, string $method): Verdict
{
    $asked = question($url, $method);
    $lengths = array_map('strlen', $asked);
    if (max($lengths) > MAX_HEADER || array_sum($lengths) > MAX_HEADERS) {
        return refusal(431, "The request's headers are too large.");
    }
    $answer = ask('/v1/access/middleware', $asked);
    $status = is_wp_error($answer) ? 0 : (int) wp_remote_retrieve_response_code($answer);
    $said = is_wp_error($answer) ? '' : substr(wp_remote_retrieve_body($answer), 0, 300);
    if ($status === 0 || $status >= 500) {
        $why = is_wp_error($answer) ? $answer->get_error_message() : "it answered $status $said";
        error_log("The licensing service cannot be reached: $why");
        return stays_open($url) ? new Verdict(null) : undecided();
    }
    $is_allowed = $status >= 200 && $status < 300;
    $decision = wp_remote_retrieve_header($answer, 'x-access-decision');
    if ($decision !== ($is_allowed ? 'allow' : 'deny') || (!$is_allowed && ($status < 400 || $status >= 500))) {
        error_log("The licensing service did not decide about $url: $status $said");
        return observes() ? new Verdict(null) : undecided();
    }
    $shown = picked($answer, SHOWN);
    if ($is_allowed) {
        $shown += new_cookie($answer);
        if (isset($shown['crawler-charged']) || isset($shown['set-cookie'])) {
            $shown['cache-control'] = 'private'; // one visitor's: no shared cache may keep it
        }
        return new Verdict(null, $shown, '', picked($answer, FACTS));
    }
    $shown += picked($answer, ['content-type', 'vary']) + ['cache-control' => 'no-store'];
    return new Verdict($status, $shown, wp_remote_retrieve_body($answer));
}

/** Return the headers of the question. */
function question(string $url, string $method): array
{
    $asked = ['user-agent' => ''];
    foreach (SENT as $name) {
        $key = 'HTTP_' . strtoupper(str_replace('-', '_', $name));
        $value = $_SERVER[$key] ?? ($name === 'authorization' ? $_SERVER["REDIRECT_$key"] ?? null : null);
        if ($value !== null) {
            $asked[$name] = wp_unslash($value);
        }
    }
    preg_match('/(?:^|;)\s*licensing_visitor=([^;]*)/', wp_unslash($_SERVER['HTTP_COOKIE'] ?? ''), $cookie);
    $address = (string) apply_filters('content_licensing_address', $_SERVER['REMOTE_ADDR'] ?? '');
    $asked += [
        'x-licensing-key' => CONTENT_LICENSING_KEY,
        'x-licensing-errors' => '503', // a wrong key is an outage, which refuses no reader of open pages
        'x-licensing-method' => $method,
        'x-licensing-url' => preg_replace_callback('/[^\x21-\x7e]/', fn ($found) => rawurlencode($found[0]), $url),
        'x-licensing-requester' => rawurlencode((string) apply_filters('content_licensing_requester', '')),
        'x-licensing-address' => filter_var($address, FILTER_VALIDATE_IP) ?: '',
        'x-licensing-visitor' => $cookie[1] ?? '',
    ];
    return array_map(fn ($value) => trim(preg_replace('/[^\t\x20-\x7e\x80-\xff]/', ' ', $value)), $asked);
}

/**
 * Ask the service. After a timeout it is not asked for PAUSE seconds.
 *
 * @return array|\WP_Error
 */
function ask(string $path, array $headers)
{
    if (get_transient(PAUSED)) {
        return new \WP_Error('paused', 'It did not answer in time a few seconds ago.');
    }
    $options = ['headers' => $headers, 'timeout' => TIMEOUT, 'redirection' => 0];
    $options['user-agent'] = $headers['user-agent'] ?? ''; // or WordPress would send its own
    $begin = microtime(true);
    $answer = wp_remote_get(untrailingslashit(CONTENT_LICENSING_URL) . $path, $options);
    if (is_wp_error($answer) && microtime(true) - $begin >= TIMEOUT / 2) { // not a refused connection
        set_transient(PAUSED, 1, PAUSE);
    }
    return $answer;
}

function picked(array $answer, array $names): array
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

/** Whether the site observes: it refuses nobody, so every page stays open. */
function observes(): bool
{
    return !defined('CONTENT_LICENSING_OPEN_PATHS');
}

/** Whether the page stays open while the service is down, by its own URL: the requested one may show another page. */
function stays_open(string $url): bool
{
    if (observes()) {
        return true;
    }
    $path = preg_replace('#^[^:]*://[^/?]*|\?.*$#s', '', $url) ?: '/';
    return !preg_match(DOUBTFUL, $path)
        && preg_match('#^(?:' . str_replace('#', '\#', CONTENT_LICENSING_OPEN_PATHS) . ')$#D', $path) === 1;
}

function undecided(): Verdict
{
    $verdict = refusal(503, 'Access cannot be checked at the moment.');
    $verdict->headers['retry-after'] = (string) PAUSE;
    return $verdict;
}

function refusal(int $status, string $text): Verdict
{
    return new Verdict($status, ['content-type' => 'text/plain; charset=utf-8', 'cache-control' => 'no-store'], $text);
}

function send_headers(Verdict $verdict): void
{
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
    $answer = ask($path, terms_headers());
    status_header(is_wp_error($answer) ? 503 : (int) wp_remote_retrieve_response_code($answer));
    if (!is_wp_error($answer)) {
        foreach (picked($answer, ['content-type', 'etag', 'cache-control']) as $name => $value) {
            header("$name: $value");
        }
        echo wp_remote_retrieve_body($answer);
    }
    exit;
}

function terms_headers(): array
{
    $parts = wp_parse_url(home_url());
    $port = isset($parts['port']) ? ":{$parts['port']}" : '';
    return ['host' => $parts['host'] . $port, 'x-licensing-key' => CONTENT_LICENSING_KEY];
}

/** Add the service's groups to WordPress's own robots.txt. */
function add_robots(string $own): string
{
    $added = get_transient('content_licensing_robots');
    if ($added === false) {
        $answer = ask('/robots.txt', terms_headers());
        $added = wp_remote_retrieve_response_code($answer) === 200 ? wp_remote_retrieve_body($answer) : '';
        set_transient('content_licensing_robots', $added, TERMS_SECONDS);
    }
    return rtrim("$own\n$added") . "\n";
}
