"""Captions: one credit, about the requested number of words, in the brand's style or the caller's."""

from typing import Any

import pytest
from ai_kit.world import World

from ai.jobs import captions, lost_jobs, views
from ai.providers.base import GenerationFailed
from ai.rules import caption_text
from contracts import ai as api
from contracts.errors import ApiError

ASKED = api.WriteCaption(
    brand_id="brd_a",
    brand_name="Boats & Co",
    brand_description="We rent boats.",
    guidelines="No puns.",
    instruction="Write about summer",
    words=20,
)


def sentences(count: int) -> str:
    """Returns a text of this many words, in sentences of five words."""
    return ("These are just five words. " * (count // 5)).strip()


def write(world: World, **changed: Any) -> api.Caption:
    fields = {name: getattr(ASKED, name) for name in ASKED.__struct_fields__} | changed
    return captions.write(world.context(), world.caller(), api.WriteCaption(**fields))


def asked(world: World) -> list[str]:
    return [prompt for method, prompt in world.provider.made if method == "caption"]


def test_a_caption_costs_one_credit(world: World) -> None:
    world.provider.script["caption"] = [f'"{sentences(20)}"']
    caption = write(world)
    assert caption.text == sentences(20)
    assert (caption.brand_id, caption.words_requested) == ("brd_a", 20)
    assert (caption.credits.charged, caption.credits.remaining, world.spent()) == (1, 2_399, 1)


def test_it_follows_the_brands_guidelines(world: World) -> None:
    world.provider.script["caption"] = [sentences(20)]
    write(world)
    [prompt] = asked(world)
    for part in ("Boats & Co", "We rent boats.", "No puns.", "20 words", "Write about summer"):
        assert part in prompt


def test_custom_instructions_replace_the_guidelines(world: World) -> None:
    world.provider.script["caption"] = [sentences(20)]
    write(world, custom_instructions="Only puns.")
    [prompt] = asked(world)
    assert "Only puns." in prompt
    assert "No puns." not in prompt


def test_a_text_to_rewrite_goes_with_the_instruction(world: World) -> None:
    world.provider.script["caption"] = [sentences(20)]
    write(world, edit_text="Old words about winter")
    assert "Old words about winter" in asked(world)[0]


@pytest.mark.parametrize("count", [15, 20, 25])
def test_a_fifth_more_or_less_is_accepted_and_more_is_cut_at_a_sentence(world: World, count: int) -> None:
    world.provider.script["caption"] = [sentences(count), sentences(20)]
    text = write(world).text
    assert caption_text.fits(text, 20)
    assert text.endswith(".")
    assert len(asked(world)) == (2 if count < 16 else 1)


def test_a_caption_with_too_few_words_is_requested_once_more(world: World) -> None:
    world.provider.script["caption"] = [sentences(5), sentences(20)]
    assert write(world).text == sentences(20)
    assert "it has 5" in asked(world)[1]


def test_a_caption_of_the_wrong_length_is_refunded(world: World) -> None:
    world.provider.script["caption"] = [sentences(5), sentences(10)]
    with pytest.raises(ApiError) as refusal:
        write(world)
    assert refusal.value.code == "AI_GENERATION_FAILED"
    assert "5 and then 10 words instead of 20" in refusal.value.extras["reason"]
    assert (world.spent(), world.entries("refund")) == (0, 1)


@pytest.mark.parametrize("problem", [GenerationFailed("Declined."), ZeroDivisionError()])
def test_any_failure_is_refunded(world: World, problem: Exception) -> None:
    world.provider.script["caption"] = [problem]
    with pytest.raises(ApiError, match="AI_GENERATION_FAILED"):
        write(world)
    assert world.spent() == 0


def test_the_same_operation_gets_the_same_text_and_pays_once(world: World) -> None:
    world.provider.script["caption"] = [sentences(20), sentences(25)]
    caller = world.caller()
    first = captions.write(world.context(), caller, ASKED)
    assert captions.write(world.context(), caller, ASKED) == first
    assert (len(asked(world)), world.spent()) == (1, 1)


def test_a_caption_is_not_listed_and_is_forgotten_in_time(world: World) -> None:
    world.provider.script["caption"] = [sentences(20)]
    caller = world.caller()
    captions.write(world.context(), caller, ASKED)
    assert views.show_list(world.context(), caller, api.ListJobs()).jobs == ()
    job_id = world.job(caller.operation_id).id
    with pytest.raises(ApiError, match="NOT_FOUND"):
        views.show(world.context(), caller, api.JobId(id=job_id))
    assert lost_jobs.forget_captions(world.context()) == 0
    world.shift(8 * 86_400)
    assert lost_jobs.forget_captions(world.context()) == 1
    assert world.spent() == 1
