import time

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from memory.texts.addresses import addresses
from memory.texts.difference import compare, differs, read
from memory.texts.distinguishing_marks import Marks, digest_material, distinguishing
from memory.texts.fingerprints import normalise, simhash64
from memory.texts.prefilter import frame, may_be_one, sketch

ASCII = st.text(alphabet=st.characters(max_codepoint=126), max_size=80)
WORDS = """
Alice bob Robin likes hates not never 3 4 3pm 15:30 $5 5% May march Monday today HERON-42 snake_case uv .
, over https://example.org/a [1] twenty-one first no longer can't
"""
PHRASES = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("a", "b", "kind"),
    [
        ("Meet at 3pm", "Meet at 4pm", "number"),
        ("Take it at 8am", "Take it at 8pm", "number"),
        ("Due at 12 a.m.", "Due at 12 p.m.", "number"),
        ("The fee is $1,200", "The fee is €1,200", "number"),
        ("moved from 3 to 4", "moved from 4 to 3", "number"),
        ("has two cats", "has three cats", "number"),
        ("grew 5%", "grew 5 kg", "number"),
        ("a 10-year plan", "an 11-year plan", "number"),
        ("it is -5 outside", "it is 5 outside", "number"),
        ("needs Python 3.1", "needs Python 3.10", "number"),
        ("Due 3 May 2026", "Due 4 May 2026", "date"),
        ("Due 3 May 26", "Due 3 May 27", "date"),
        ("Due in May", "Due in June", "date"),
        ("Due 2026-05-03", "Due 2026-05-04", "date"),
        ("call on Monday", "call on Tuesday", "date"),
        ("call next Friday", "call last Friday", "date"),
        ("arrives today", "arrives tomorrow", "date"),
        ("paid next week", "paid last week", "date"),
        ("standup in the morning", "standup in the evening", "date"),
        ("likes tea", "does not like tea", "negation"),
        ("drinks coffee", "no longer drinks coffee", "negation"),
        ("likes cilantro", "hates cilantro", "negation"),
        ("is fond of nuts", "is allergic to nuts", "negation"),
        ("eats sugar", "eats without sugar", "negation"),
        ("the flat is rented", "the flat was rented", "wording"),
        ("Ada isn't married", "Ada wasn't married", "wording"),
        ("Ada won\u2019t come", "Ada doesn\u2019t come", "wording"),
        ("Ada can't swim", "Ada couldn't swim", "wording"),
        ("Ada will be married", "Ada is married", "wording"),
        ("loves cats, hates dogs", "hates cats, loves dogs", "negation"),
        ("call before lunch", "call after lunch", "negation"),
        ("Alice likes tea.", "Bob likes tea.", "name"),
        ("lives in Lisbon", "lives in Porto", "name"),
        ("Alice manages Bob", "Bob manages Alice", "name"),
        ("alice manages bob", "Bob manages Alice", "name"),
        ("ship HERON-42", "ship HERON-43", "name"),
        ("set max_rows", "set max_cols", "name"),
        ("edit app.py", "edit cli.py", "name"),
        ("writes C++", "writes C#", "name"),
        ("commit 3f9a2b", "commit 3f9a2c", "name"),
        ("docs at https://example.org/a", "docs at https://example.org/b", "name"),
        ("docs at https://youtu.be/AbCdEf", "docs at https://youtu.be/aBcDeF", "name"),
        ("prefers uv over pip", "prefers pip over uv", "order"),
        ("Robin brings a \U0001f34e", "Robin brings a \U0001f34c", "sign"),
        ("keep depth < width", "keep depth > width", "sign"),
        ("fails where a != b", "fails where a == b", "sign"),
        ("blood type O+", "blood type O-", "sign"),
        ("grade A+", "grade A", "sign"),
        ("needs Python > 3.10", "needs Python 3.10", "sign"),
        ("build -> test", "build \u2190 test", "sign"),
        ("build \u2192 test", "build test", "sign"),
        ("depth >= width", "depth \u2264 width", "sign"),
        ("build <-> test", "build \u2192 test", "sign"),
        ("build <-> test", "build \u2190 test", "sign"),
        ("build --> test", "build <-- test", "sign"),
        ("build --> test", "build ==> test", "sign"),
        ("build <== test", "build <= test", "sign"),
        ("build <--> test", "build test", "sign"),
        ("build \u27f6 test", "build \u27f7 test", "sign"),
        ("depth !== width", "depth \u2260 width", "sign"),
        ("depth < width and age > size", "depth > width and age < size", "sign"),
    ],
)
def test_different_statements_differ(a: str, b: str, kind: str) -> None:
    assert differs(a, b) == kind
    assert differs(b, a) == kind


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("मुझे दिन पसंद है", "मुझे दान पसंद है"),
        ("राम की किताब", "राम का किताब"),
        ("ไม่ต้องซื้อ", "ไม้ต้องซื้อ"),
        ("நான் பால் குடிப்பேன்", "நான் பல குடிப்பேன்"),
        ("دَرَسَ الولد", "دَرَّسَ الولد"),
        ("الإيجار \u0667\u0660\u0660 يورو", "الإيجار \u0667\u0665\u0660 يورو"),
    ],
)
def test_a_vowel_or_tone_beside_its_letter_is_a_difference(one: str, other: str) -> None:
    assert differs(one, other)
    assert differs(other, one)
    assert simhash64(normalise(one)) != simhash64(normalise(other))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("الغرفة ٤٥٢ في الفندق", "الغرفة 452 في الفندق"),
        ("The soft\u00adware is here", "The software is here"),
        ("می\u200cخو\u0627\u0647م بروم", "میخواهم بروم"),
        ("\u202bשל\u05d5ם עולם\u202c", "שלום עולם"),
        ("İzmir güzel", "izmir güzel"),
    ],
)
def test_what_is_not_seen_and_which_digits_are_written_is_none(one: str, other: str) -> None:
    assert (differs(one, other), differs(other, one)) == (None, None)
    assert simhash64(normalise(one)) == simhash64(normalise(other))


ABROAD = {
    "German": (
        "Das neue Herzmittel nimmt meine Mutter morgens nach dem Essen mit viel Wasser ein. Laut Arzt darf sie es "
        "zusammen mit dem Blutverdünner einnehmen, solange die Werte alle vier Wochen geprüft werden.",
        "darf sie es",
        "nicht",
    ),
    "French": (
        "Le médicament se prend le soir avec un grand verre d'eau. Le médecin dit que ma mère peut le prendre avec son "
        "anticoagulant tant que les valeurs sont contrôlées toutes les quatre semaines.",
        "mère",
        "ne",
    ),
    "Spanish": (
        "La medicina se toma por la noche con un vaso grande de agua. El médico dice que mi madre puede tomarla con su "
        "anticoagulante mientras se controlen los valores cada cuatro semanas.",
        "mi madre",
        "nunca",
    ),
    "German of a user": (
        "Der User hat vom Hausarzt ein Herzmittel bekommen. Der User darf es mit dem Blutverdünner einnehmen, und der "
        "User nimmt es morgens nach dem Essen ein.",
        "darf es",
        "nicht",
    ),
    "French that uses": (
        "Le médecin dit qu'on peut user du médicament le soir avec un verre d'eau et user aussi de la crème.",
        "peut",
        "pas",
    ),
    "Polish of us": ("W tygodniu my pijemy kawę bez cukru, a w niedzielę my jemy ciasto z owocami.", "a w", "nie"),
    "Polish": (
        "Lek bierze się wieczorem po jedzeniu i popija dużą szklanką wody. Lekarz mówi, że mama może go brać z lekiem "
        "na ciśnienie, jeśli raz w miesiącu zbada krew.",
        "mama",
        "nie",
    ),
}


@pytest.mark.parametrize("language", ABROAD)
def test_one_word_more_is_a_difference_where_a_text_is_in_another_language(language: str) -> None:
    # Any word may be the language's "not": no list has those of all languages.
    text, before, word = ABROAD[language]
    negated = text.replace(before, f"{before} {word}")
    assert negated != text
    assert (differs(text, negated), differs(negated, text)) == ("wording", "wording")


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("Ada schaut gern The Crown", "Ada schaut nicht gern The Crown"),
        ("The Crown schaut Ada gern", "The Crown schaut Ada nicht gern"),
        ("Ada liest gern Where the Wild Things Are", "Ada liest nicht gern Where the Wild Things Are"),
        ("Léa aime You Only Live Twice", "Léa aime pas You Only Live Twice"),
    ],
)
def test_an_english_title_makes_no_text_english(text: str, negated: str) -> None:
    assert (differs(text, negated), differs(negated, text)) == ("wording", "wording")


@pytest.mark.parametrize(
    ("text", "emphatic"),
    [
        ("The Smiths keep a key under the mat", "The Smiths certainly keep a key under the mat"),
        ("Ada lives in the Netherlands", "Ada currently lives in the Netherlands"),
        ("THE KEY IS UNDER THE MAT", "the key is safely under the mat"),
    ],
)
def test_a_name_or_capitals_leave_a_text_english(text: str, emphatic: str) -> None:
    assert differs(text, emphatic) is None


def test_emphasis_in_english_is_no_difference_however_long_the_text() -> None:
    text = "The user prefers dark mode in all of their editors, and every terminal that they use should follow it"
    assert differs(text, text.replace("prefers", "certainly prefers")) is None


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("alice likes tea", "Alice likes tea"),
        ("ALICE LIKES TEA", "Alice likes tea."),
        ("Ada wasn't married", "Ada was not married"),
        ("ADA ISN'T MARRIED", "Ada is not married"),
        ("Ada can't swim", "Ada cannot swim"),
        ("Prefers dark mode", "prefers dark mode"),
        ("Robin can't swim", "robin cannot swim"),
        ("Robin doesn\u2019t swim", "Robin does not swim"),
        ("Due 3 May 2026", "due May 3rd, 2026"),
        ("Due 2026-05-03", "Due May 3, 2026"),
        ("meet at 3 p.m.", "meet at 15:00"),
        ("meet at 12 pm", "meet at 12:00"),
        ("twenty-one cats", "21 cats"),
        ("grew five percent", "grew 5%"),
        ("costs $1,000", "costs 1000 dollars"),
        ("weighs 5 kg", "weighs 5kg"),
        ("Robin likes tea [1].", "Robin likes tea [2]."),
        ("docs at https://example.org/a", "docs at http://www.example.org/a/?utm_source=chat"),
        ("Use tabs. The user said so.", "use tabs. the user said so"),
        ("You may go", "you May go"),
        ("Robin likes tea", "Robin likes tea \U0001f375!"),
        ("Robin likes tea \U0001f375", "Robin likes tea.\U0001f375"),
        ("Robin \u2764 tea", "Robin \u2764\ufe0f tea."),
        ("use `uv`.", "use `uv`"),
        ("**uv** (not pip)", "uv, not pip"),
        ("build -> test", "build \u2192 test"),
        ("build -> test", "build --> test"),
        ("build -> test", "build ----> test"),
        ("build -> test", "build \u2013> test"),
        ("build -> test", "build \u27f6 test"),
        ("build -> test", "build \u27a1\ufe0f test"),
        ("build <- test", "build <-- test"),
        ("build <- test", "build \u27f5 test"),
        ("build => test", "build ==> test"),
        ("build => test", "build \u27f9 test"),
        ("build <== test", "build \u21d0 test"),
        ("build <-> test", "build <--> test"),
        ("build <-> test", "build \u2194 test"),
        ("build <=> test", "build \u27fa test"),
        ("build->test", "build -> test"),
        ("build <- test", "build \u2190 test"),
        ("rain => mud", "rain \u21d2 mud"),
        ("depth != width", "depth \u2260 width"),
        ("depth >= width", "depth \u2265 width"),
        ("depth >= -3", "depth \u2265 -3"),
        ("depth <= width", "depth \u2264 width"),
    ],
)
def test_the_same_statement_does_not_differ(a: str, b: str) -> None:
    assert differs(a, b) is None
    assert differs(b, a) is None


@pytest.mark.parametrize(
    ("fewer", "more"),
    [
        ("docs at", "docs at https://example.org/a"),
        ("docs at https://example.org/a", "docs at https://example.org/a https://example.org/b"),
        ("docs at https://example.org/a", "docs at https://example.org/a#b and https://example.org/a"),
    ],
)
def test_an_address_more_is_a_difference_and_one_less_is_none(fewer: str, more: str) -> None:
    assert (differs(fewer, more), differs(more, fewer.replace("docs", "docs,"))) == ("name", None)


def test_marks_of_a_sentence() -> None:
    text = "On Monday, 3 May 2026 at 15:30 Robin didn't meet Ana about HERON-42 for $1,200.50 and two prints."
    assert distinguishing(text) == Marks(
        numbers=("15:30", "1200.50$", "2"),
        dates=("mon", "2026-5-3"),
        negations=("not",),
        names=("robin", "ana", "heron-42"),
    )


def test_a_common_word_opening_a_sentence_is_no_name() -> None:
    assert distinguishing("The fig is ripe. We ate it! Today: You too.\n- Put it away.").names == ()


def test_a_common_word_inside_a_sentence_is_a_name() -> None:
    assert distinguishing("ask Will about it").names == ("will",)


def test_digest_material_separates_updates_and_ignores_wording() -> None:
    assert digest_material("Robin owes 3 euros") == digest_material("So Robin still owes 3 euros")
    assert digest_material("Robin owes 3 euros") != digest_material("Robin owes 4 euros")
    assert digest_material("Robin likes tea \U0001f375") == digest_material("Robin likes tea")


@given(ASCII | PHRASES)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert differs(text, text) is None


@given(ASCII | PHRASES)
def test_case_alone_makes_no_difference_but_in_the_path_of_an_address(text: str) -> None:
    for other in (text.lower(), text.upper()):
        assert differs(text, other) == ("name" if addresses(other) != addresses(text) else None)


@given(PHRASES, PHRASES)
def test_differing_is_mutual_but_for_addresses(a: str, b: str) -> None:
    assume(addresses(a) == addresses(b))
    assert differs(a, b) == differs(b, a)


WORDS = ["uv", "pip", "Ada", "ada", "the", "really", "not", "3", "three", "May", "5%", "+", "<", "https://a.org/x", ","]
SCRAPS = st.lists(st.sampled_from(WORDS), max_size=6)


@given(SCRAPS, SCRAPS)
def test_what_is_told_apart_by_its_sketch_differs(a: list[str], b: list[str]) -> None:
    one, other = read(" ".join(a)), read(" ".join(b))
    assert may_be_one(sketch(one), sketch(other)) or compare(one, other) is not None


def parts(one: str, other: str) -> bool:
    here, there = frame(one), frame(other)
    return here.text == there.text and here.slots != there.slots


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Rent is 700", "Rent is 750"),
        ("Paid 17.50 on 3 May", "Paid 17.50 on 3 June"),
        ("From 3 to 4", "From 4 to 3"),
        ("HERON-42 is up", "HERON-43 is up"),
        ("The gym is closed on Mondays", "The gym is closed on Tuesdays"),
    ],
)
def test_other_numbers_and_days_part_texts_of_one_frame(one: str, other: str) -> None:
    assert parts(one, other)
    assert differs(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("On 3 May", "on May 3"),
        ("On 03 Sept 2024", "on 3 September 2024"),
        ("At 12 am", "at 0 am"),
        ("Rent is 1,000", "Rent is 1000"),
        ("Three eggs", "3 eggs"),
        ("As was shown [1]", "As was shown [2]"),
        ("See https://a.org/?utm_id=1", "See https://a.org/?utm_id=2"),
    ],
)
def test_one_number_or_day_in_other_letters_parts_nothing(one: str, other: str) -> None:
    assert not parts(one, other)
    assert differs(one, other) is None


@pytest.mark.parametrize("more", ["", " pip", " pip uv", " pip pip", " really"])
def test_the_sketch_does_not_part_what_may_be_one(more: str) -> None:
    short, long = sketch(read("I prefer uv")), sketch(read(f"I prefer uv{more}"))
    assert may_be_one(short, long)
    assert may_be_one(long, short)


@pytest.mark.parametrize(
    "other",
    [
        "I prefer pip",
        "I prefer uv and not only here",
        "prefer I uv",
        "I prefer pip here",
        "I prefer uv < 3",
        "I do not prefer uv",
        "I prefer uv since May 5",
        "I prefer uv https://a.org/x",
        "I mix it there a bit",
    ],
)
def test_the_sketch_parts_what_differs(other: str) -> None:
    assert not may_be_one(sketch(read("I prefer uv")), sketch(read(other)))


@pytest.mark.parametrize("unit", ["[1,", "(a", "1,", "a-", "may ", "- ", "aA", "not ", "\n", "<", "!=. "])
def test_the_longest_text_is_read_in_reasonable_time(unit: str) -> None:
    text = (unit * 65536)[:65536]
    started = time.thread_time()
    read(text)
    assert time.thread_time() - started < 2


LONG = "We met the caterers about the spring party and they will bring a {} menu for the whole team. " + "filler " * 80


def test_a_word_exchanged_in_a_long_text_keeps_the_texts_apart():
    assert differs(LONG.format("vegetarian"), LONG.format("vegan")) == "wording"


@pytest.mark.parametrize(
    ("one", "other"), [("cat", "dog"), ("his", "her"), ("in", "out"), ("to", "from"), ("my", "our"), ("car", "the bus")]
)
def test_a_short_word_exchanged_in_a_long_text_keeps_the_texts_apart(one, other):
    assert differs(LONG.format(one), LONG.format(other)) == "wording"


def test_a_sentence_added_to_a_long_text_keeps_the_texts_apart():
    assert differs(LONG, LONG + "remember the peanut sauce of everybody there.") == "wording"


def test_emphasis_alone_does_not_keep_texts_apart():
    assert differs("I enjoy hiking in the mountains", "I really do enjoy hiking in the mountains") is None
