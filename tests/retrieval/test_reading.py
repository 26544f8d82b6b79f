"""What reads a question and a note together: what it tells, that it computes as in training, and what it keeps."""

from __future__ import annotations

import logging
import time

import numpy as np
import pytest

from retrieval.ranking.silence import SHOWN_EARLY
from retrieval.reading import model as reader_model
from retrieval.reading import reading
from retrieval.reading.model import STOPS, WEIGHTS, Stop, read_stops, save_stops
from retrieval.reading.reading import HOPELESS, CannotReadError, Reader, shared_reader
from retrieval.words.answers import what_asks

SHOTS = "Rex, our old spaniel, had his rabies shot in May."
AGE = "Rex, our spaniel, will be nine in May."


@pytest.fixture(scope="module")
def reader():
    found = shared_reader()
    assert found is not None
    return found


def changed(path, **arrays):
    with np.load(WEIGHTS) as file:
        np.savez(path, **{**file, **arrays})
    return path


def test_what_is_about_the_same_thing_need_not_answer(reader):
    assert reader.sureness("How old is Rex?", AGE) > 0.2 > reader.sureness("How old is Rex?", SHOTS)
    assert reader.sureness("Has Rex been vaccinated?", SHOTS) > 0.2 > reader.sureness("Has Rex been vaccinated?", AGE)
    assert 0 <= reader.sureness("", "") <= 1


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("How old is Ola?", "Ola is eleven.", "Ola plays handball in Kassel."),
        ("How old is Ola?", "Ola turned eleven in March.", "Ola likes tea."),
        ("Does Ada play an instrument?", "Ada practises the cello on Sundays", "Ada's bike has a flat tyre"),
        ("Who put up the fence?", "The fence was put up by Karim in April", "The fence is painted green"),
        ("When was the fence built?", "The fence was put up by Karim in April", "The fence is painted green"),
    ],
)
def test_plain_answers_are_told_from_others(reader, question, answer, other):
    told = reader.sureness(question, answer)
    assert told > 0.5
    assert told > 2 * reader.sureness(question, other)


def test_what_shows_early_that_it_does_not_answer_is_read_no_further(reader):
    question, far = "How old is Rex?", "The ferry to Holm leaves at 9:15 from the north pier."
    assert reader.sureness(question, far) == HOPELESS < SHOWN_EARLY
    assert reader.sureness(question, far, to_the_end=True) not in {HOPELESS, None}
    assert reader.sureness(question, far, to_the_end=True) < SHOWN_EARLY
    whole = reader.sureness(question, far, to_the_end=True)
    assert list(reader.each([(question, far)] * 2, whole=[True, False])) == [whole, HOPELESS]


def test_what_may_answer_is_read_to_the_end(reader):
    asked = "How old is Rex?"
    assert reader.sureness(asked, AGE) == reader.sureness(asked, AGE, to_the_end=True) > SHOWN_EARLY


def test_what_stops_early_takes_less_time(reader):
    pairs = list(reader.pieces("How old is Rex?", "The ferry to Holm leaves at 9:15 from the north pier."))

    def least(**how):
        spent = []
        for _ in range(30):
            started = time.thread_time()
            reader.model.log_odds(*pairs[0], **how)
            spent.append(time.thread_time() - started)
        return min(spent)

    # Half of it, or two thirds.
    assert least() < 0.85 * least(to_the_end=True)


def test_stops_hold_for_the_weights_that_they_were_fitted_to(tmp_path):
    assert len(read_stops(STOPS)) == 3
    other = changed(tmp_path / "other.npz")
    assert read_stops(STOPS, other) == []
    assert Reader(other).sureness("How old is Rex?", "The ferry leaves at 9:15.") != HOPELESS


def test_stops_are_kept_as_they_were(tmp_path):
    stop = Stop(3, np.array([1.5, -0.25], np.float32), -0.5)
    save_stops([stop], path := tmp_path / "stops.npz")
    (found,) = read_stops(path)
    assert (found.layer, found.weights.tolist(), found.bias) == (3, [1.5, -0.25], -0.5)
    assert found.is_hopeless(np.array([0.0, 0.0], np.float32))
    assert not found.is_hopeless(np.array([1.0, 0.0], np.float32))


def minutes(sentences):
    """Return sentences that say of nobody how old he is."""
    subjects = ("budget", "roof", "car park", "new kitchen", "summer party", "heating", "windows", "cleaning rota")
    said = "The meeting went on about the {} of the coming year and nothing was decided. "
    return "".join(said.format(each) for each in subjects[:sentences])


def test_a_long_text_is_read_in_parts(reader):
    filler = minutes(6)
    asked = "How old is Rex?"
    assert reader.sureness(asked, filler + "Rex is nine years old.") > 0.2 > reader.sureness(asked, filler)
    assert reader.can_read(filler + AGE)
    assert not reader.can_read(filler * 2), "what is longer would be read in part"


def test_of_a_long_text_no_more_is_read_than_what_surely_answers(reader, monkeypatch):
    filler, read, pieces = minutes(5), [], reader.pieces

    def counted(*of):
        for part in pieces(*of):
            read.append(part)
            yield part

    monkeypatch.setattr(reader, "pieces", counted)
    told = "Rex, our old dog, is nine years old by now and sleeps most of the day beside the stove in the kitchen. "
    asked = "How old is Rex?"
    assert reader.sureness(asked, told + filler) > 0.9
    assert len(read) == 1
    assert reader.sureness(asked, filler) < 0.1
    assert len(read) == 1 + len([*pieces(asked, filler)]) > 3


def test_a_sentence_that_comes_again_is_read_once(reader):
    parts = [[*reader.pieces("How old is Rex?", text)] for text in (minutes(6), minutes(6) + minutes(4))]
    assert parts[0] == parts[1]
    assert len(parts[0]) > 1


@pytest.mark.parametrize(
    "text",
    ["When do I see Dr. Meyer?", "What must not go into settings.py?", "Is 1.4.2 out?", "What is on 12. May?", "?"],
)
def test_a_full_stop_need_not_end_a_sentence(text):
    assert what_asks(text) == text
    assert what_asks(f"I am packing. {text}") == (text if text != "?" else "I am packing. ?")


@pytest.mark.parametrize(
    "told", ["I am on ABC-12.", "See #8812.", "It runs on grandMA3.", "It fails (again).", "(It fails.)", "It is late."]
)
def test_a_sentence_ends_before_what_asks(told):
    assert what_asks(f"{told} How old is Rex?") == "How old is Rex?"


def test_of_a_long_question_what_asks_is_read(reader):
    told = "Hi! I am packing for the weekend and Marek comes along with the children. How old is Rex? Thanks a lot"
    assert reader.sureness(told, AGE) == reader.sureness("How old is Rex?", AGE)
    assert reader.can_take(told)
    assert not reader.can_take("and then we went on to the next house " * 20)


@pytest.mark.parametrize(
    "text",
    [
        "When is Mia's birthday?",
        "Has Rex been vaccinated?",
        "rye starter hydration",
        "Tea",
        "4711",
        "Łódź flat: the keys are with Grzegorz Brzęczyszczykiewicz, who lives above",
        "Why PostgreSQL and not MongoDB? The reason is in the ADR",
        "Katarzyna is allergic to penicillin.",
        "Back pain, physio Frau Lindner, Tuesdays 7:30",
        "Our former optometrist joins a chain in Nashik.",
        "Can I make prawns for everyone?",
        "am I diabetic",
        "Is Zoleka married?",
        "Where does Wen come from?",
        "What should I not pour her at dinner?",
        "The concert at São João is on 23 June",
        "What may I pour the user in the afternoon?",
        "List my allergies",
        "List my Kubernetes namespaces",
        "Show me all usernames",
        "all passwords",
        "rate limit for webhooks",
        "Courses this term: Finite Elements (Dr. Hlavac), Control Theory (Prof. Novotná), Thermodynamics",
    ],
)
def test_english_is_read(reader, text):
    assert reader.can_read(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wo ist mein Auto",
        "Wie alt ist Rex",
        "Où est Paul",
        "Dove è la mia auto",
        "Qui est Anna",
        "Wer hat Lisa den Code gegeben",
        "Hva koster det for hytta her",
        "Det er til jeg kommer for at hente bilen, ikke for",
        "To jest do kuchni, nie by on to zrobil",
        "Is de auto van Piet of niet naar de garage",
        "Is Jan ziek?",
        "Had Jan de sleutel?",
        "Was kostet der Eintritt?",
        "Will Anna kommen?",
        "Wo liegt die CD von The Who?",
        "Comment va Paul",
        "mes allergies",
        "liste des mots de passe",
        "mis alergias",
        "todas las claves",
        "le mie allergie",
        "lista delle spese",
        "mijn wachtwoorden",
        "huur of koop",
        "list polecony",
        "wszystkie moje hasła",
        "alerji listem",
        "tüm şifreler",
        "alle Passwörter",
        "Show heute Abend",
        "मेरी कार कहाँ है",
        "என் கார் எங்கே",
        "አማን የት ነው",
        "మియా పుట్టినరోజు మే 4",
        "Какой номер моего паспорта",
        "我的护照什么时候到期",
    ],
)
def test_other_languages_are_not(reader, text):
    assert not reader.can_read(text)


def test_what_was_read_is_remembered_by_a_digest(reader, monkeypatch):
    first = reader.sureness("Who walks Rex on Sundays?", SHOTS)
    monkeypatch.setattr(reader, "model", None)
    assert reader.sureness("Who walks Rex on Sundays?", SHOTS) == first
    assert all(isinstance(name, bytes) and len(name) == 16 for name in reader._known)


def test_only_so_much_is_remembered(monkeypatch):
    monkeypatch.setattr(reading, "_REMEMBERED", 2)
    reader = Reader()
    for name in ("Rex", "Ben", "Pip"):
        reader.sureness(f"Who is {name}?", SHOTS)
    assert len(reader._known) == 2


def test_where_rounding_is_off_it_computes_in_single_precision(monkeypatch, caplog, reader):
    monkeypatch.setattr(reading, "_TOLERANCE", 0.001)
    with caplog.at_level(logging.WARNING):
        exact = Reader()
    assert "single precision" in caplog.text
    assert exact.sureness("How old is Rex?", AGE) == pytest.approx(reader.sureness("How old is Rex?", AGE), abs=0.1)


def test_what_computes_something_else_is_no_reader(tmp_path):
    with np.load(WEIGHTS) as file:
        bias = file["head.bias"]
    with pytest.raises(CannotReadError, match="off by 5"):
        Reader(changed(tmp_path / "other.npz", **{"head.bias": bias + 5}))
    with pytest.raises(FileNotFoundError):
        Reader(tmp_path / "none.npz")


def test_a_process_without_a_reader_says_why(monkeypatch, caplog):
    monkeypatch.setattr(reader_model, "cross_encoder_weights", lambda: None)
    reading._loaded.cache_clear()
    try:
        assert shared_reader() is None
    finally:
        reading._loaded.cache_clear()
    assert "there is no reader" in caplog.text
    assert "package" in caplog.text


def _pairs(question, notes):
    return [(question, note) for note in notes]


def test_one_after_another_is_read_in_order_and_no_further_than_wanted(reader):
    notes = [f"Tova has {number} goats behind the mill" for number in ("two", "three", "four", "five", "six")]
    asked = "How many goats does Tova have?"
    assert list(reader.each(_pairs(asked, notes))) == [reader.sureness(asked, note) for note in notes]
    assert list(reader.each([])) == []
    fresh = [f"Ivo keeps {number} hens in the old van" for number in ("two", "three", "four", "five", "six")]
    known = len(reader._known)
    reading = reader.each(_pairs("How many hens has Ivo?", fresh))
    next(reading)
    next(reading)
    reading.close()
    assert len(reader._known) == known + 2, "who stops has no more than a pair read"
    reading = reader.each(_pairs("How many hens has Una?", fresh), at_once=(1, 3))
    next(reading)
    reading.close()
    assert len(reader._known) == known + 3, "the first is read alone"
    assert list(reader.each(_pairs(asked, notes), at_once=(1, 3))) == [reader.sureness(asked, note) for note in notes]


def test_reading_ends_when_its_time_is_up(reader):
    notes = [f"The {colour} boat was sold to a fisher from Skagen" for colour in ("red", "blue", "green")]
    with pytest.raises(TimeoutError):
        list(reader.each(_pairs("Who bought our boats?", notes), seconds=0.0))
    assert len(list(reader.each(_pairs("Who bought our boats?", notes), seconds=60.0))) == 3
