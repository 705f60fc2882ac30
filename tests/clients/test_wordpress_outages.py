"""The plugin for WordPress without a decision: wrong settings, wrong keys, and a service that does not answer."""

import itertools
import select
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest
from content_access_licensing import Client

from tests.clients.wordpress import GUIDE, HOST, SECRET, WordPress, log_in, wordpress
from tests.clients.wordpress.blog import *  # noqa: F403 - the fixtures
from tests.documentation.blocks import block
from tests.faults.harness import Deployment, eventually
from tests.faults.proxies.origin import Quiet, serving
from tests.services import free_port


@pytest.fixture(scope="module")
def stranger(running: Deployment, tmp_path_factory: pytest.TempPathFactory) -> Iterator[WordPress]:
    """Return a WordPress with a wrong key that enforces."""
    with wordpress(tmp_path_factory.mktemp("wrong-key"), running.url, "svc_sk_x") as made:
        yield made


@pytest.fixture
def visit(stranger: WordPress) -> Iterator[httpx.Client]:
    with stranger.client() as made:
        yield made


@pytest.fixture
def admin(stranger: WordPress) -> Iterator[httpx.Client]:
    with stranger.client() as made:
        log_in(made)
        yield made


def statuses(visit: httpx.Client) -> list[int]:
    return [visit.get(path).status_code for path in ("/free/free-post/", "/premium/premium-post/")]


def test_a_wrong_key_is_an_outage_whose_reason_is_logged(visit: httpx.Client, stranger: WordPress):
    for _ in range(2):
        assert statuses(visit) == [200, 503]
    terms = visit.get("/license.xml")
    assert (terms.status_code, terms.headers["Retry-After"]) == (503, "10")
    assert eventually(lambda: "did not publish /license.xml" in stranger.log.read_text())
    log = stranger.log.read_text()
    assert log.count("cannot be used: invalid_api_key") == 1
    assert [text in log for text in ("cannot be reached", "service_unavailable", "svc_sk_x")] == [False] * 3


class OtherServer(Quiet):
    """A web server at the service's address, such as one for maintenance."""

    status = 200

    def serve(self) -> None:
        body = b"User-agent: *\nDisallow: /\n" if self.path == "/robots.txt" else b"Please log in"
        self.answer(self.status, body, Content_Type="text/html")


def test_what_another_server_answers_is_not_published_as_the_terms(visit: httpx.Client, stranger: WordPress):
    with serving(OtherServer) as other, stranger.configured(CONTENT_LICENSING_URL=f"http://127.0.0.1:{other}"):
        assert "Disallow: /\n" not in visit.get("/robots.txt").text
        for OtherServer.status in (200, 404):
            for path in ("/license.xml", "/.well-known/tdmrep.json"):
                terms = visit.get(path)
                assert (path, terms.status_code, terms.headers["Cache-Control"]) == (path, 503, "no-store")


def test_a_missing_constant_is_an_outage_too(visit: httpx.Client, admin: httpx.Client, stranger: WordPress):
    problem = "define CONTENT_LICENSING_KEY in wp-config.php"
    with stranger.configured(CONTENT_LICENSING_KEY=None):
        assert statuses(visit) == [200, 503]
        assert "Disallow: /wp-admin/" in visit.get("/robots.txt").text
        assert visit.get("/license.xml").status_code == 503
        assert visit.get("/wp-json/wp/v2/posts").status_code == 503
        assert problem in admin.get("/wp-admin/edit.php").text
        assert problem in stranger.log.read_text()
        with stranger.configured(CONTENT_LICENSING_URL=None, CONTENT_LICENSING_OPEN_PATHS=None):
            assert statuses(visit) == [200, 200]
            assert "define CONTENT_LICENSING_URL and CONTENT_LICENSING_KEY" in admin.get("/wp-admin/edit.php").text


def test_the_admin_says_why_visits_are_not_decided_until_one_is(
    visit: httpx.Client, admin: httpx.Client, stranger: WordPress, client: Client, running: Deployment
):
    def shows(*texts: str) -> bool:
        page = admin.get("/wp-admin/edit.php").text
        return all(text in page for text in ("visits are not decided", " UTC: ", *texts))

    statuses(visit)
    assert shows("cannot be used: invalid_api_key", "only CONTENT_LICENSING_OPEN_PATHS are open")
    with stranger.configured(CONTENT_LICENSING_URL=f"http://127.0.0.1:{free_port()}"):
        assert statuses(visit) == [200, 503]
        assert shows("cannot be reached: cURL error")
    with stranger.configured(CONTENT_LICENSING_URL="127.0.0.1:21100"):
        assert statuses(visit) == [200, 503]
        assert shows("A valid URL was not provided. Check CONTENT_LICENSING_URL, with its https://. Until")
    with stranger.configured(CONTENT_LICENSING_URL=f"{running.url}/v1"):
        assert statuses(visit) == [200, 503]
        assert shows(f"{running.url}/v1 did not answer as the licensing service", "without /v1? It answered 404")
    fields: Any = {"name": "WordPress", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}
    with stranger.configured(CONTENT_LICENSING_KEY=client.create_api_key(fields)["key"]):
        assert visit.get("/free/free-post/").status_code == 200
        assert not shows()
    statuses(visit)
    assert shows("cannot be used: invalid_api_key")  # at once, though the log had this reason a moment ago
    public = client.create_api_key({"name": "Public", "type": "public"})
    with stranger.configured(CONTENT_LICENSING_KEY=public["key"]):
        assert statuses(visit) == [200, 200]  # the site refused nobody when the service last answered
        assert shows("cannot be used: ", "every page is open")


def test_a_site_that_observes_refuses_nobody_though_the_key_is_for_another_host(
    visit: httpx.Client, admin: httpx.Client, stranger: WordPress, client: Client
):
    problem = f"visits of {HOST} are not decided. CONTENT_LICENSING_KEY is not for {HOST}"
    for host, is_shown in ((HOST, False), ("other.example", True)):
        fields: Any = {"name": host, "type": "secret", "permissions": ["access:check"], "allowedHosts": [host]}
        with stranger.configured(CONTENT_LICENSING_KEY=client.create_api_key(fields)["key"]):
            page = visit.get("/premium/premium-post/")
            assert (host, page.status_code, SECRET in page.text) == (host, 200, True)
            assert (host, problem in admin.get("/wp-admin/edit.php").text) == (host, is_shown)
    assert problem not in admin.get("/wp-admin/edit.php").text  # that was another key
    assert page.headers["Cache-Control"] == "private"


def test_each_host_has_the_mode_and_the_terms_of_its_own_site(
    visit: httpx.Client, stranger: WordPress, client: Client
):
    """In an outage they are those of its own last answer, whichever host was asked last."""
    modes = {"blog.example": "enforce", "de.blog.example": "observe"}
    policy = client.create_policy(
        {"name": "A", "rules": [{"action": "allow", "conditions": {"default": True}, "permissions": ["read"]}]}
    )["id"]
    for host, mode in modes.items():
        rules: Any = [{"pattern": "/*", "policyId": policy}]
        client.create_site({"host": host, "mode": mode, "rules": rules})
    key = client.create_api_key(
        {"name": "Both", "type": "secret", "permissions": ["access:check"], "allowedHosts": list(modes)}
    )["key"]
    down = f"http://127.0.0.1:{free_port()}"

    def get(path: str, host: str) -> httpx.Response:
        with stranger.configured(WP_HOME=f"http://{host}", WP_SITEURL=f"http://{host}"):
            return visit.get(path, headers={"Host": host})

    for order in (list(modes), list(reversed(modes))):
        with stranger.configured(CONTENT_LICENSING_KEY=key):
            for host in order:
                assert (host, get("/free/free-post/", host).status_code) == (host, 200)
                assert f"{host}/license.xml" in get("/robots.txt", host).text
        with stranger.configured(CONTENT_LICENSING_KEY=key, CONTENT_LICENSING_URL=down):
            for host, mode in modes.items():
                status = 200 if mode == "observe" else 503
                assert (order, host, get("/premium/premium-post/", host).status_code) == (order, host, status)
                assert f"{host}/license.xml" in get("/robots.txt?later=400", host).text
            assert get("/premium/premium-post/", "other.example").status_code == 503
    other = client.create_api_key(
        {"name": "Other", "type": "secret", "permissions": ["access:check"], "allowedHosts": ["other.example"]}
    )["key"]
    with stranger.configured(CONTENT_LICENSING_KEY=other):  # of the site that enforces, another host would be open
        assert get("/premium/premium-post/", "new.example").status_code == 403


def test_an_id_that_is_none_counts_as_an_unknown_visitor(visit: httpx.Client, stranger: WordPress, client: Client):
    fields: Any = {"name": "Ids", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}
    with stranger.configured(CONTENT_LICENSING_KEY=client.create_api_key(fields)["key"]):
        for query in (f"subscriber={'a' * 300}", "subscriber[]=a", "subscriber=%20", "subscriber=%ff"):
            page = visit.get(f"/free/free-post/?{query}")
            assert (query, page.status_code, page.headers["X-Seen"]) == (query, 200, "anonymous,")
    log = stranger.log.read_text()
    assert "content_licensing_requester returned no id of up to 255 characters" in log
    assert "Warning: Array to string" not in log


def test_the_page_of_an_outage_can_be_translated(stranger: WordPress):
    for filters, language, said in (
        ("", "en", "Access cannot be checked"),
        (block(GUIDE, "add_filter('gettext_content-access-licensing'"), "de-DE", "Der Zugang kann gerade nicht"),
    ):
        page = stranger.evaluated(f"""
            {filters}
            add_filter('locale', fn () => 'de_DE');
            $_SERVER['HTTP_ACCEPT'] = 'text/html';
            echo ContentAccessLicensing\\undecided()->body;
        """)
        assert (language, f'<html lang="{language}">' in page, said in page) == (language, True, True)


def test_while_the_service_stalls_a_site_that_observes_stays_open(tmp_path_factory: pytest.TempPathFactory):
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        wordpress(
            tmp_path_factory.mktemp("observing"),
            f"http://127.0.0.1:{silent.getsockname()[1]}",
            "svc_sk_x",
            enforces=False,
        ) as alone,
        alone.client() as visit,
    ):
        for path in ("/premium/premium-post/", "/free/free-post/?x=1"):
            assert visit.get(path).status_code == 200
        silent.setblocking(False)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # it is not asked again for ten seconds
            silent.accept()
        with ThreadPoolExecutor() as pool:
            first = pool.submit(visit.get, "/free/free-post/?later=11")
            assert select.select([silent], [], [], 60)[0]
            with alone.client() as other:  # while one visit tries it again
                assert other.get("/free/free-post/?later=11").status_code == 200
            assert not first.done()
            assert first.result().status_code == 200
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):
            silent.accept()
        assert visit.get("/free/free-post/?later=40&meanwhile=1").status_code == 200
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # which the other visit has tried
            silent.accept()


class EndlessServer(Quiet):
    def serve(self) -> None:
        self.send_response(200)
        self.end_headers()
        with suppress(ConnectionError):
            while True:
                self.wfile.write(bytes(1_000_000))


def test_an_answer_without_end_is_a_timeout(stranger: WordPress):
    with serving(EndlessServer) as endless, stranger.configured(CONTENT_LICENSING_URL=f"http://127.0.0.1:{endless}"):
        shown = stranger.evaluated("""
            ini_set('memory_limit', '64M');
            ContentAccessLicensing\\ask('/v1/access/middleware', []);
            echo get_option('content_licensing_paused') > time() ? 'pauses' : 'does not pause';
            delete_option('content_licensing_paused');
        """)
    assert shown == "pauses"


def test_the_admin_says_that_the_service_is_slow(
    visit: httpx.Client, admin: httpx.Client, stranger: WordPress, client: Client
):
    fields: Any = {"name": "Slow", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}
    problem = "the licensing service took over a second for each of its last 10 answers"
    with stranger.configured(CONTENT_LICENSING_KEY=client.create_api_key(fields)["key"]):
        for count, is_shown in ((9, False), (1, True)):
            for _ in range(count):
                visit.get("/free/free-post/?took=1.2")
            assert (count, problem in admin.get("/wp-admin/edit.php").text) == (count, is_shown)
        visit.get("/free/free-post/?later=11")
        assert problem not in admin.get("/wp-admin/edit.php").text


class SlowServer(Quiet):
    def serve(self) -> None:
        time.sleep(1.1)
        self.answer(500)


def test_slow_answers_to_simultaneous_visits_count_each(visit: httpx.Client, admin: httpx.Client, stranger: WordPress):
    visit.get("/free/free-post/")
    with (
        serving(SlowServer) as slow,
        stranger.configured(CONTENT_LICENSING_URL=f"http://127.0.0.1:{slow}"),
        ThreadPoolExecutor(2) as pool,
    ):
        pages = list(pool.map(lambda _: visit.get("/free/free-post/"), range(10)))
    assert [page.status_code for page in pages] == [200] * 10
    assert "over a second for each of its last 10 answers" in admin.get("/wp-admin/edit.php").text
    visit.get("/free/free-post/?later=11")


def test_after_ten_slow_answers_open_pages_are_asked_about_once_in_ten_seconds(
    visit: httpx.Client, stranger: WordPress, client: Client, site: str
):
    quick = -5  # whatever the machine's load
    fields: Any = {"name": "Slow", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}

    def is_asked(now: int, took: float = 1.2, path: str = "/free/free-post/") -> bool:
        page = visit.get(path, params={"now": now, "took": took})
        assert page.status_code == (200 if "free" in path else 402)
        is_asked = "X-Access-Id" in page.headers or page.headers["X-Seen"] != ","
        assert is_asked or page.headers["Cache-Control"] == "private"
        return is_asked

    def is_sold_asked(now: int, took: float = 1.2) -> bool:
        return is_asked(now, took, "/premium/premium-post/")

    with stranger.configured(CONTENT_LICENSING_KEY=client.create_api_key(fields)["key"]):
        for answer in range(15):
            assert is_asked(1000 + 10 * answer), answer  # few visits do not use up PHP's workers
        for answer in range(10):
            assert is_asked(2000), answer
        assert [is_asked(2001), is_asked(2009), is_sold_asked(2009), is_asked(2018)] == [False, False, True, False]
        assert [is_asked(2020), is_asked(2021), is_asked(2031)] == [True, False, True]
        with stranger.configured(CONTENT_LICENSING_OPEN_PATHS=None):  # sold pages are open in an outage only
            assert is_sold_asked(2032)
        assert [is_asked(2050, quick), is_asked(2051), is_asked(2052)] == [True] * 3
        for _ in range(10):
            is_asked(3000)
        assert [is_asked(3001), is_sold_asked(3002, quick), is_asked(3003)] == [False, True, True]
        client.update_site(site, {"mode": "observe"})
        for _ in range(10):
            is_asked(4000)
        assert visit.get("/premium/premium-post/?now=4001").headers["X-Seen"] == ","  # it is open in any case
        client.update_site(site, {"mode": "enforce"})
        assert [is_asked(4011, quick), is_sold_asked(4012)] == [True, True]


def test_the_admin_says_what_is_wrong_with_the_settings(admin: httpx.Client, stranger: WordPress):
    for paths, is_shown in (("#^/.*$#", True), ("/about", True), ("/about/", False), ("", False)):
        with stranger.configured(CONTENT_LICENSING_OPEN_PATHS=paths):
            page = admin.get("/wp-admin/edit.php").text
            assert (paths, "matches neither the front page nor one of the newest" in page) == (paths, is_shown)
    with stranger.configured(WP_HOME=f"http://{HOST}/blog"):
        assert "WordPress is in the folder /blog/" in admin.get("/wp-admin/edit.php").text
        admin.get("/license.xml")  # as the web server passes it on
        assert "WordPress is in the folder" not in admin.get("/wp-admin/edit.php").text


def test_in_a_network_the_main_site_answers_the_terms_of_the_sites_in_folders(stranger: WordPress):
    stranger.evaluated("""
        require_once ABSPATH . 'wp-admin/includes/upgrade.php';
        foreach ($GLOBALS['wpdb']->tables('ms_global') as $name => $table) {
            $GLOBALS['wpdb']->$name = $table;
        }
        $permalinks = get_option('permalink_structure');
        install_network();
        populate_network(1, 'pub.example', 'ada@pub.example', 'The Daily', '/', false);
        update_option('permalink_structure', $permalinks); // the network puts /blog before
    """)
    network = {"MULTISITE": "1", "SUBDOMAIN_INSTALL": "", "DOMAIN_CURRENT_SITE": HOST, "PATH_CURRENT_SITE": "/"}
    with stranger.configured(**network, SITE_ID_CURRENT_SITE="1", BLOG_ID_CURRENT_SITE="1"):
        shown = stranger.evaluated("""
            $site = wp_insert_site(['domain' => 'pub.example', 'path' => '/zwei/', 'user_id' => 1]);
            switch_to_blog($site);
            echo ContentAccessLicensing\\folder(), implode(' ', ContentAccessLicensing\\problems());
        """)
    assert shown.startswith("/zwei")
    assert "WordPress is in the folder" not in shown


def test_a_path_that_no_permalink_can_have_shows_no_posts_and_is_asked_about_where_a_plugin_answers_it(
    visit: httpx.Client, stranger: WordPress, client: Client, site: str
):
    """WordPress queries the newest posts there, which a theme may show."""
    structure = "'%s/%%category%%/%%postname%%/'"
    permalinks = f"update_option('permalink_structure', {structure}); delete_option('rewrite_rules');"
    stranger.evaluated(permalinks % "/blog")
    fields: Any = {"name": "WordPress", "type": "secret", "permissions": ["access:check"], "allowedHosts": [HOST]}
    key = client.create_api_key(fields)["key"]
    for key_in_use, unknown, status in ((key, "deny", 403), (key, "allow", 200), ("svc_sk_x", "deny", 503)):
        client.update_site(site, {"unknown": unknown})
        with stranger.configured(CONTENT_LICENSING_KEY=key_in_use):
            page = visit.get("/nope/")
            texts = [text for text in (SECRET, "Everybody reads") if text in page.text]
            assert (status, page.status_code, texts) == (status, 404, [])
            for action, more in itertools.product(("wp", "template_redirect"), ("", "&code=1", "&discards=1")):
                printed = visit.get(f"/nope/?print={action}{more}")
                found = (action, more, printed.status_code, SECRET in printed.text)
                assert found == (action, more, status, status == 200)
    stranger.evaluated(permalinks % "")


def test_a_plugin_that_is_deleted_leaves_nothing_behind(visit: httpx.Client, stranger: WordPress):
    def left() -> list[str]:
        names = "SELECT option_name FROM wp_options WHERE option_name LIKE '%content_licensing%'"
        return stranger.evaluated(f'echo implode(" ", $GLOBALS["wpdb"]->get_col("{names}"));').split()

    statuses(visit)
    assert {"content_licensing_outage", "content_licensing_own_hosts"} <= set(left())
    registered = 'echo wp_json_encode(get_option("uninstall_plugins"));'
    assert "content-access-licensing.php" in stranger.evaluated(registered)
    plugin = "require_once ABSPATH . 'wp-admin/includes/plugin.php'; "
    stranger.evaluated(f"{plugin} deactivate_plugins('content-access-licensing.php');")
    stranger.evaluated(f"{plugin} uninstall_plugin('content-access-licensing.php');")
    assert left() == []
    assert stranger.evaluated(registered) == "[]"
