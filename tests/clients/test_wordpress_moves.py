"""WordPress warns editors whose change moves a published page to another path, because paths decide access."""

import html
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.clients.wordpress import HOST, WordPress, log_in, wordpress
from tests.services import free_port

NOTICE = re.compile(r'<div class="notice notice-warning is-dismissible">(<p>Content Access Licensing: .*?)</div>')
NEW: Any = {"post_status": "publish", "post_author": 1}


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WordPress]:
    service = f"http://127.0.0.1:{free_port()}"
    with wordpress(tmp_path_factory.mktemp("moves"), service, "svc_sk_x", categories=["sold"]) as made:
        yield made


@pytest.fixture
def admin(alone: WordPress) -> Iterator[httpx.Client]:
    """Return an administrator's client, which sends the nonce of the REST API."""
    with alone.client() as made:
        log_in(made)
        made.headers["X-WP-Nonce"] = made.get("/wp-admin/admin-ajax.php?action=rest-nonce").text
        yield made


def shown(admin: httpx.Client, page: str = "/wp-admin/edit.php") -> list[str]:
    """Return the lines of the notice; none without a notice."""
    found = NOTICE.search(admin.get(page).text)
    return [html.unescape(line) for line in re.findall(r"<li>(.*?)</li>", found[1])] if found else []


def save(admin: httpx.Client, route: str, **fields: Any) -> dict[str, Any]:
    """Save as the block editor does, which sets the categories after the post."""
    saved = admin.post(f"/wp-json/wp/v2/{route}", json=fields)
    assert saved.is_success, saved.text
    return dict(saved.json())


def published(admin: httpx.Client, alone: WordPress, title: str) -> int:
    """Return the id of a new post, whose path is /sold/ and the title."""
    category = alone.posts["sold-category"]
    return int(save(admin, "posts", title=title, status="publish", categories=[category])["id"])


def nonce(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="(\w+)"', page)
    assert found, name
    return found[1]


@pytest.mark.parametrize("screen", ["block editor", "quick edit", "classic editor", "bulk edit"])
def test_whoever_moves_a_published_post_sees_once_from_where_to_where(admin, alone, screen):
    title = screen.replace(" ", "-")
    number = published(admin, alone, title)
    free, sold = alone.posts["free-category"], alone.posts["sold-category"]
    editor = f"/wp-admin/post.php?post={number}&action=edit"
    assert shown(admin) == []  # it is new
    fields: Any = {"post_ID": number, "post_type": "post", "post_title": title, "post_category[]": [free, sold]}
    posts = admin.get("/wp-admin/edit.php").text
    if screen == "block editor":
        save(admin, f"posts/{number}", categories=[free, sold])
    elif screen == "quick edit":
        checked = {"action": "inline-save", "_inline_edit": nonce(posts, "_inline_edit"), "screen": "edit-post"}
        quick = {**fields, **checked, "post_name": title, "_status": "publish", "post_view": "list"}
        assert "Edit" in admin.post("/wp-admin/admin-ajax.php", data=quick).text
    elif screen == "classic editor":
        checked = {"action": "editpost", "_wpnonce": nonce(admin.get(editor).text, "_wpnonce")}
        assert admin.post("/wp-admin/post.php", data={**fields, **checked}).status_code == 302
    else:
        checked = {"action": "edit", "bulk_edit": "Update", "_wpnonce": nonce(posts, "_wpnonce"), "post_type": "post"}
        bulk = {**checked, "post[]": number, "post_category[]": free, "_status": -1, "post_author": -1}
        assert admin.get("/wp-admin/edit.php", params=bulk).status_code == 302
    with alone.client() as reader:
        assert shown(reader) == []
    assert shown(admin, editor) == []  # the block editor hides such notices
    assert shown(admin, "/wp-admin/index.php") == [f"{title}: from /sold/{title}/ to /free/{title}/"]
    assert shown(admin, "/wp-admin/index.php") == []


def test_posts_that_are_new_or_closed_or_stay_in_their_place_are_not_named(admin, alone):
    number = published(admin, alone, "stays")
    sold, free = alone.posts["sold-category"], alone.posts["free-category"]
    draft = int(save(admin, "posts", title="draft", status="draft", categories=[sold])["id"])
    save(admin, f"posts/{draft}", categories=[free], slug="drawn")
    save(admin, f"posts/{draft}", categories=[sold], status="publish")
    save(admin, f"posts/{number}", title="other", content="other", tags=[], date="2026-01-02T03:04:05")
    save(admin, f"posts/{number}", categories=[free])
    save(admin, f"posts/{number}", categories=[sold])  # and back
    save(admin, f"posts/{draft}", categories=[free], status="draft")
    assert shown(admin) == []
    save(admin, f"posts/{number}", categories=[free])
    assert admin.delete(f"/wp-json/wp/v2/posts/{number}").is_success
    assert shown(admin) == []


def test_an_import_of_new_posts_says_nothing_and_one_of_known_posts_names_the_first_and_their_number(admin, alone):
    imported = """
        wp_set_current_user(1);
        foreach (range(1, 300) as $number) {
            $post = ['post_title' => "<i>$number</i>", 'post_name' => "i$number", 'post_status' => 'publish'];
            $post += ($known = get_page_by_path("i$number", OBJECT, 'post')) ? ['ID' => $known->ID] : [];
            wp_set_post_terms(wp_insert_post($post), [%s], 'category');
        }
    """
    alone.evaluated(imported % alone.posts["sold-category"])
    assert shown(admin) == []
    alone.evaluated(imported % alone.posts["free-category"])
    first = [f"<i>{number}</i>: from /sold/i{number}/ to /free/i{number}/" for number in range(1, 6)]
    assert shown(admin) == [*first, "and 295 more"]
    save(admin, f"categories/{alone.posts['free-category']}", slug="open")
    assert shown(admin)[-1] == "and at least 96 more"
    save(admin, f"categories/{alone.posts['free-category']}", slug="free")
    assert shown(admin)[-1] == "and at least 96 more"


def page(admin: httpx.Client, title: str, parent: int = 0, **fields: Any) -> int:
    return int(save(admin, "pages", title=title, parent=parent, **{"status": "publish", **fields})["id"])


def follow(admin: httpx.Client, listed: str, link: str) -> None:
    """Follow the link of a list in wp-admin whose URL has this text."""
    links = re.findall(r"<a href=['\"]([^'\"]+)['\"]", admin.get(listed).text)
    [url] = {html.unescape(url) for url in links if link in html.unescape(url)}
    path = httpx.URL(httpx.URL(f"http://{HOST}/wp-admin/").join(url)).raw_path.decode()
    assert admin.get(path).status_code == 302


def test_a_parent_page_names_the_pages_below_it_and_their_number(admin, alone):
    parent = page(admin, "نص")
    draft = page(admin, "draft", parent, status="draft", slug="d")
    for number in range(1, 7):
        page(admin, f"c{number}", draft if number == 6 else parent)
    save(admin, f"pages/{parent}", slug="text")
    first = [f"c{number}: from /نص/c{number}/ to /text/c{number}/" for number in range(1, 5)]
    assert shown(admin) == ["نص: from /نص/ to /text/", *first, "and 2 more"]
    save(admin, f"pages/{parent}", content="other", title="other")
    assert shown(admin) == []
    for slug in ("a", "b", "c"):
        save(admin, f"pages/{parent}", slug=slug)
    first = [f"c{number}: from /text/c{number}/ to /c/c{number}/" for number in range(1, 5)]
    assert shown(admin) == ["other: from /text/ to /c/", *first, "and 2 more"]
    for slug in ("a", "c"):
        save(admin, f"pages/{parent}", slug=slug)
    assert shown(admin) == []


@pytest.mark.parametrize("screen", ["list", "block editor"])
def test_who_trashes_restores_or_deletes_a_parent_page_sees_where_the_pages_below_it_are(admin, alone, screen):
    slug = f"in-the-{screen.replace(' ', '-')}"
    parent = page(admin, slug)
    page(admin, "grandchild", page(admin, "child", parent))
    trash = "/wp-admin/edit.php?post_status=trash&post_type=page"

    def do(action: str) -> None:
        if screen == "list":
            listed = trash if action != "trash" else "/wp-admin/edit.php?post_type=page"
            follow(admin, listed, f"post.php?post={parent}&action={action}&")
        elif action == "untrash":
            alone.evaluated(f"wp_set_current_user(1); wp_untrash_post({parent}); wp_publish_post({parent});")
        else:
            assert admin.delete(f"/wp-json/wp/v2/pages/{parent}", params={"force": action == "delete"}).is_success

    closed, trashed, opened = f"/{slug}", f"/{slug}__trashed", ""
    for action, before, after in (
        ("trash", closed, trashed),
        ("untrash", trashed, closed),
        ("trash", closed, trashed),
        ("delete", trashed, opened),
    ):
        do(action)
        assert shown(admin) == [
            f"child: from {before}/child/ to {after}/child/",
            f"grandchild: from {before}/child/grandchild/ to {after}/child/grandchild/",
        ], action


def test_a_page_that_is_trashed_with_those_below_it_moves_nothing(admin, alone):
    parent = page(admin, "whole")
    child = page(admin, "part", parent)
    alone.evaluated(f"wp_set_current_user(1); wp_trash_post({parent}); wp_trash_post({child});")
    assert shown(admin) == []
    alone.evaluated(f"wp_set_current_user(1); wp_delete_post({parent}); wp_delete_post({child});")
    assert shown(admin) == []


def test_a_category_names_the_categories_and_the_newest_posts_below_it(admin, alone):
    parent = save(admin, "categories", name="above")["id"]
    child = save(admin, "categories", name="below", parent=parent)["id"]
    save(admin, "posts", title="deep", status="publish", categories=[child])
    save(admin, f"categories/{parent}", slug="over")
    assert shown(admin) == [
        "above: from /category/above/ to /category/over/",
        "deep: from /above/below/deep/ to /over/below/deep/",
        "below: from /category/above/below/ to /category/over/below/",
    ]
    save(admin, f"categories/{parent}", description="other")
    assert shown(admin) == []
    assert admin.delete(f"/wp-json/wp/v2/categories/{parent}", params={"force": True}).is_success
    assert shown(admin) == [
        "deep: from /over/below/deep/ to /below/deep/",
        "below: from /category/over/below/ to /category/below/",
    ]


def test_a_plugin_without_its_settings_says_nothing(admin, alone):
    number = published(admin, alone, "unconfigured")
    with alone.configured(CONTENT_LICENSING_KEY=None):
        save(admin, f"posts/{number}", slug="moved")
        assert shown(admin) == []
