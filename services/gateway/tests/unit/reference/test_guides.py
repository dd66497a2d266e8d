"""The guides of docs/api as pages of /docs/guides."""

from pathlib import Path

from flask.testing import FlaskClient

from gateway.reference.guides import Guide, read_guides, render

DOCS = Path(__file__).parents[5] / "docs"


def made(text: str, *others: str) -> str:
    """Returns the HTML of a guide with this text, beside other guides of these names."""
    guide = Guide("one", "One", "docs/api/one.md", f"# One\n\n{text}\n")
    known = {name: Guide(name, name, f"docs/api/{name}.md", "") for name in others}
    return render(guide, {"one": guide} | known).strip()


def test_every_guide_has_a_page_and_a_link_to_it_on_the_first_page(client: FlaskClient) -> None:
    files = [*(DOCS / "api").glob("*.md"), DOCS / "platforms.md", DOCS / "mcp.md"]
    first = client.get("/docs").text
    for path in files:
        if path.name == "README.md":
            continue
        title = path.read_text().splitlines()[0].removeprefix("# ")
        assert f'href="/docs/guides/{path.stem}"' in first
        assert f"<h1>{title}</h1>" in client.get(f"/docs/guides/{path.stem}").text


def test_the_quickstart_is_the_first_guide() -> None:
    assert next(iter(read_guides())) == "quickstart"


def test_an_unknown_guide_is_not_found(client: FlaskClient) -> None:
    for name in ("nothing", "README", "..%2Fspec", "../spec"):
        assert client.get(f"/docs/guides/{name}").status_code == 404


def test_a_link_to_another_guide_leads_to_its_page() -> None:
    assert made("[x](two.md#place)", "two") == '<p><a href="/docs/guides/two#place">x</a></p>'


def test_a_link_to_what_is_not_served_is_told_as_a_path() -> None:
    assert made("See [the contract](../spec.md).") == "<p>See the contract (docs/spec.md).</p>"


def test_links_into_the_page_and_to_other_hosts_stay() -> None:
    assert made("[a](#b) [c](https://d.test/)") == '<p><a href="#b">a</a> <a href="https://d.test/">c</a></p>'


def test_headings_have_the_ids_that_links_use() -> None:
    assert made("## 0. What a post `may` hold") == (
        '<h2 id="0-what-a-post-may-hold">0. What a post <code>may</code> hold</h2>'
    )


def test_tables_and_code_can_be_scrolled_with_the_keyboard() -> None:
    assert '<table tabindex="0">' in made("| a |\n|---|\n| b |")
    assert made("```\ncode\n```") == '<pre tabindex="0"><code>code\n</code></pre>'


def test_comments_are_left_out() -> None:
    assert made("<!-- made by a test -->") == ""


def test_the_changelog_is_a_page_beside_the_guides(client: FlaskClient) -> None:
    assert 'href="/docs/guides/changelog"' in client.get("/docs").text
    assert "Unreleased" in client.get("/docs/guides/changelog").text


def test_the_guides_are_named_in_llms_txt(client: FlaskClient) -> None:
    text = client.get("/llms.txt").text
    assert "/docs/guides/idempotency)" in text
