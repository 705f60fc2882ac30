"""The WordPress plugin in WordPress's block editor."""

from urllib.parse import urlencode

from tests.clients.wordpress import wordpress
from tests.services import free_port


def test_the_block_editor_says_at_once_that_a_post_has_moved(chromium, tmp_path):
    with wordpress(tmp_path, f"http://127.0.0.1:{free_port()}", "svc_sk_x", categories=["sold"]) as site:
        home = f"http://127.0.0.1:{site.port}"
        with (
            site.configured(WP_HOME=home, WP_SITEURL=home),
            chromium.new_context(base_url=home) as context,
            context.new_page() as page,
        ):
            page.set_default_timeout(60_000)
            editor = f"/wp-admin/post.php?post={site.posts['sold']}&action=edit"
            page.goto(f"/wp-login.php?{urlencode({'redirect_to': editor})}")
            page.fill("#user_login", "ada")
            page.fill("#user_pass", "secret")
            page.click("#wp-submit")
            page.wait_for_url(f"**{editor}", wait_until="commit")
            page.wait_for_function("window.wp?.data?.select('core/editor')?.getCurrentPost().id")

            def notices(change: str) -> list[str]:
                """Save the change, and return the warnings."""
                page.evaluate(f"wp.data.dispatch('core/editor').editPost({{{change}}})")
                page.evaluate("wp.data.dispatch('core/editor').savePost()")
                shown = "wp.data.select('core/notices').getNotices().filter(({status}) => status === 'warning')"
                return list(page.evaluate(f"{shown}.map(({{content}}) => content.split('. ')[0])"))

            said = "Content Access Licensing: this page, with any pages below it, has moved from"
            assert notices("title: 'Renamed'") == []
            assert notices(f"categories: [{site.posts['free-category']}]") == [
                f"{said} /sold/sold-post/ to /free/sold-post/"
            ]
            assert notices("slug: 'نص-2'") == [f"{said} /free/sold-post/ to /free/نص-2/"]
