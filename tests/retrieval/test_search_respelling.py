"""What is asked for in another spelling is found as it was noted; what is near to it and another thing is not."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from itertools import product
from time import thread_time

import pytest

from evals.examine import Vectors
from evals.stock import model_of, stock
from memory.storage.database import user_session
from retrieval.lookup import respelling
from retrieval.lookup.respelling import Spelling, rewritten
from retrieval.policy import NAMED, policy_from
from retrieval.query import Dense, Query
from retrieval.reading.reading import shared_reader
from retrieval.search import search
from retrieval.words import slips

NOW = datetime(2026, 6, 1, tzinfo=UTC)
NOTES = {
    "landlord": "Our landlord Herr Schönwälder can be called at +49 761 555 0183",
    "adviser": "The tax adviser Ibáñez: 0761/443-21-90",
    "dentist": "The dentist's number is 0176 / 9988 1234",
    "iban": "My IBAN is DE89 3704 0044 0532 0130 00",
    "skoda": "The Skoda has the plate FR-KM 2087",
    "train": "We take the ICE 9580 to Marseille on 21 December 2026",
    "policy": "The insurance has the number 11-4872",
    "dishes": "The dish washer is a Miele G 7110 SC",
    "error": "The washing machine shows error F24 when the filter is full",
    "lock": "The bike lock opens with 4-9-1-6",
    "bug": "The bug E-1042 is fixed in the parser",
    "midwife": "My midwife was Käthe Öttinger",
    "tires": "Jürgen Klöpfer changes the winter tires in Görlitz",
    "ladder": "Søren Åkesson borrowed the ladder",
    "boss": "Hedwig Straßer is my boss and retires in 2029",
    "born": "Mia was born on 17 August 2014",
    "cellist": "Kathrin plays the cello in Bern",
    "pills": "Thyroid pills: one every morning",
    "colour": "Petrol blue is the colour that I like most",
    "mine": "Locker A-77 has the skis",
    "sauna": "Mia wants a night at the sauna",
    "theirs": "Locker A77 is somebody else's",
    "piano": "The café Vidal has a piano",
    "diary": "We talked about the roof and the garden wall. " * 12
    + "Höfner mends the gutter. "
    + "It rained a lot. " * 12,
}


VALUES = {
    "sofa": "Ben paid 1050 euros for the sofa",
    "lamp": "Mia paid 10,50 euros for the lamp",
    "route": "Route A along the lake is 105 km long",
    "pump": "The pump of the pool is set to 125 bar",
    "flat": "Flat 123 belongs to Mr. Okri",
    "archive": "Room 2-15 is the archive",
    "oil": "The mill takes 12.75 litres of oil",
    "boxes": "Locker 41-7 has the boxes",
    "wedding": "The wedding was on the 3rd of May, 2024 in Graz",
    "invoice": "Invoice 03-05-2024 is unpaid",
    "rent": "The rent of the barn is 1,240 euros",
    "miete": "Die Miete der Scheune stieg auf 1.290 Euro",
    "mast": "The mast weighs 2.450 kg and not 2.4 kg",
    "release": "Heron 4.12.0 reads tiles from disk",
    "patch": "Heron v4.12.1 closes its files",
    "prize": "The lottery paid 1,250,000 crowns",
    "roof": "The roof took 12,400.25 euros",
    "kiln": "Der Ofen kostet 3.180,90 Euro",
    "boat": "The boat was 15300.99 euros",
}


WHOLES = {
    "vpn": "The VPN profile lies in /etc/openvpn/fjord.ovpn on the laptop",
    "pump": "Part 805/112233-K is the pump for the boiler",
    "staging": "stg-04.example.net runs the staging database",
    "primary": "prod-db-01.example.net is the primary server",
    "bills": "Write to ada.berg+bills@mail.example about the bills",
    "invoice": "Invoice INV-2026-0042 was paid by wire",
    "bike": "Lisa/Tom share the bike",
    "food": "Groceries: milk/cucumbers/bread every Saturday",
    "rollback": "Version v2.4.1-rc3 was rolled back",
    "router": "The router has the address 192.168.178.42",
    "phone": "The tax adviser: 0761/443-21-90",
    "cable": "The cable is 12.4711 metres long",
    "vet": "The vet of the dog is Dr. O'Brien",
    "tuner": "Luca D\u2019Angelo tunes the piano",
}


APART = {
    "node": "The scraper runs on Node.js since last winter",
    "visit": "The follow-up with the cardiologist is on Thursday",
    "fryer": "The air fryer takes 18 minutes for the potatoes",
    "degree": "Farid got his Ph.D. from Uppsala",
    "letters": "The green edition of the letters is by J. R. R. Tolkien",
    "formation": "The coach lets them play 4-4-2 against Rosenheim",
    "plan": "Ola called the plan naïve but kind",
    "heating": "Die Heizung kostete 3.450,00 Euro",
    "bonsai": "The youtube channel about bonsai is called Niwa",
    "scan": "The xray of the molar is at the dentist",
    "shirts": "Marcus has ordered the tshirts",
    "party": "The party has a tombola in R hall, and we walk a while",
}


@pytest.fixture(scope="module")
def ask_apart(runtime, new_person):
    return asking(runtime, new_person("gus"), APART)


@pytest.fixture(scope="module")
def ask_wholes(runtime, new_person):
    return asking(runtime, new_person("eve"), WHOLES)


@pytest.fixture(scope="module")
def ask(runtime, new_person):
    return asking(runtime, new_person("ada"), NOTES)


@pytest.fixture(scope="module")
def ask_values(runtime, new_person):
    return asking(runtime, new_person("ben"), VALUES)


def asking(runtime, person, notes):
    space_id = stock(runtime, person.id, list(notes.values()), now=NOW, vectors=None)
    with user_session(runtime.sessions, person.id) as session:
        model = model_of(session, person.id)
        session.expunge(model)
    dense = Dense.by(model, Vectors(runtime.providers.embedder(model, asked=True)))
    names = {text: name for name, text in notes.items()}

    def whole(question, policy=None, by=dense, **fields):
        query = Query(person.id, space_id, question, scope_size=len(notes), **fields)
        chosen = policy_from(policy or {}, NAMED["balanced"])
        with user_session(runtime.sessions, person.id) as session:
            return search(session, query, chosen, dense=by, now=NOW, reader=shared_reader)

    def asked(question, policy=None, **fields):
        found = whole(question, policy, **fields)
        return [names[hit.snippet] for hit in found.hits], list(found.warnings)

    asked.whole = whole
    return asked


@pytest.mark.parametrize(
    ("question", "name"),
    [
        *[("nodejs", "node"), ("NodeJS scraper", "node"), ("followup", "visit"), ("When is the followup?", "visit")],
        *[("airfryer", "fryer"), ("PhD", "degree"), ("JRR", "letters"), ("442", "formation"), ("naive", "plan")],
        *[("Was 3450 a lot?", "heating"), ("3,450.00", "heating"), ("you-tube", "bonsai"), ("YouTube", "bonsai")],
        *[("X-rays", "scan"), ("The x ray?", "scan"), ("T-shirt", "shirts")],
    ],
)
def test_a_word_is_found_joined_or_apart(ask_apart, question, name):
    assert ask_apart(question, {"legs": ["keyword"]})[0][:1] == [name]


@pytest.mark.parametrize("question", ["INR", "What is the party's?", "we'd"])
def test_words_side_by_side_are_not_one_for_that(ask_apart, question):
    assert not [each for each in ask_apart(question, {"legs": ["keyword"]})[1] if "spelled" in each]


@pytest.mark.parametrize(
    ("question", "name", "written"),
    [
        ("Whose number is +497615550183?", "landlord", "+49 761 555 0183"),
        ("0761 5550183", "landlord", "+49 761 555 0183"),
        ("0049 761 5550183", "landlord", "+49 761 555 0183"),
        ("0761 443 21 90", "adviser", "0761/443-21-90"),
        ("017699881234", "dentist", "0176 / 9988 1234"),
        ("+49 176 99881234", "dentist", "0176 / 9988 1234"),
        ("DE89370400440532013000", "iban", "DE89 3704 0044 0532 0130 00"),
        ("FRKM2087", "skoda", "FR-KM 2087"),
        ("Which car is fr km2087?", "skoda", "FR-KM 2087"),
        ("Which train is ICE9580?", "train", "ICE 9580"),
        ("114872", "policy", "11-4872"),
        ("Miele G7110", "dishes", "G 7110"),
        ("What does error F 24 mean?", "error", "F24"),
        ("bike lock 4916", "lock", "4-9-1-6"),
        ("What is E1042?", "bug", "E-1042"),
        ("bug 1042", "bug", "E-1042"),
        ("Is 1042 fixed?", "bug", "E-1042"),
        ("Who is Oettinger?", "midwife", "Öttinger"),
        ("Goerlitz", "tires", "Görlitz"),
        ("Who is Soren Akesson?", "ladder", "Søren"),
        ("Hedwig Strasser", "boss", "Straßer"),
        ("Who is Schoenwaelder?", "landlord", "Schönwälder"),
        ("Who was born on 17.08.2014?", "born", "17 August 2014"),
        ("Who was born on 2014-08-17?", "born", "17 August 2014"),
        ("Which train is on 12/21/2026?", "train", "21 December 2026"),
        ("What does Katrin play?", "cellist", "Kathrin"),
        ("thyroyd pills", "pills", "Thyroid"),
    ],
)
def test_another_spelling_is_found_and_told(ask, question, name, written):
    found, warnings = ask(question)
    assert (found[:1], written in NOTES[name]) == ([name], True)
    assert warnings
    for each in warnings:
        asked = re.fullmatch("“(.*)” is spelled otherwise here", each)
        assert asked is not None, each
        assert asked[1] in question, "it tells nothing that the memory says"


@pytest.mark.parametrize(
    "question",
    [
        *(
            "DE89 3704 0044 0532 0130 01",
            "ICE 9581",
            "FR-KM 2078",
            "error F25",
            "0761 443 21 91",
            "11-4873",
            "Who is Müller?",
        ),
        *("Where does Martin live?", "0761 443 21", "0761 5550183 9"),
    ],
)
def test_what_is_near_to_it_and_another_thing_is_not_found(ask, question):
    assert ask(question) == ([], [])


@pytest.mark.parametrize(
    "question", ["A77", "A-77", "FR-KM 2087", "Käthe", "petrol blue", "0761/443-21-90", "Mia, 17 August 2014"]
)
def test_nothing_is_told_of_what_is_written_as_it_is_asked(ask, question):
    found, warnings = ask(question)
    assert (len(found) > 0, warnings) == (True, [])


@pytest.mark.parametrize(
    ("question", "other"),
    [
        ("Who paid 10.50 euros for the lamp?", "sofa"),
        ("Which route is 10.5 km long?", "route"),
        ("Which pump is set to 12.5 bar?", "pump"),
        ("Who lives in flat 12/3?", "flat"),
        ("What is in room 21-5?", "archive"),
        ("What did release 1.2.3 fix?", "flat"),
        ("What takes 1275 litres of oil?", "oil"),
    ],
)
def test_a_value_is_no_spelling_of_another(ask_values, question, other):
    assert ask_values(question, {"min_score": 0.0})[1] == [], VALUES[other]


def test_the_sign_within_a_value_may_be_another(ask_values):
    found, warnings = ask_values("What does locker 41/7 have?")
    assert (found[:1], warnings) == (["boxes"], ["“41/7” is spelled otherwise here"])


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("What costs 1240 euros?", "rent"),
        ("What costs 1.240 euros?", "rent"),
        ("What is 1,290 euros?", "miete"),
        ("What is 1290 euros?", "miete"),
        ("Who paid 1,050 euros?", "sofa"),
        ("lottery 1250000 crowns", "prize"),
        ("What took 12400.25 euros?", "roof"),
        ("What took 12.400,25 euros?", "roof"),
        ("What is 3,180.90 euros?", "kiln"),
        ("3180,90 euros", "kiln"),
        ("What was 15,300.99 euros?", "boat"),
        ("What cost 10,5 euros?", "lamp"),
        ("What weighs 2.45 kg?", "mast"),
        ("What takes 12.7500 litres?", "oil"),
    ],
)
def test_an_amount_is_found_whatever_parts_its_thousands_and_with_more_zeros(ask_values, question, name):
    found, warnings = ask_values(question)
    assert (found[:1], len(warnings)) == ([name], 1)


def test_a_version_is_found_with_and_without_its_letter(ask_values):
    found, warnings = ask_values("What does v4.12.0 read?")
    assert (found[:1], warnings) == (["release"], ["“v4.12.0” is spelled otherwise here"])
    assert ask_values("What does 4.12.1 close?")[0][:1] == ["patch"]
    assert ask_values("What does v4.12.2 close?") == ([], [])


@pytest.mark.parametrize(
    "question",
    [
        "What costs 240 euros?",
        "What weighs 245 kg?",
        "What costs 12,40 euros?",
        "Who paid 250000 crowns?",
        "What took 12400 euros?",
        "What weighs 2,45 kg?",
        "What costs 2.45 euros?",
        "What costs 1,24 euros?",
        "What takes 12.7 litres?",
        "What takes 12.7500 l?",
        "What cost 10.05 euros?",
        "Which Heron is 4.120?",
    ],
)
def test_a_part_of_a_number_is_another_number(ask_values, question):
    assert ask_values(question, {"min_score": 0.0})[1] == []


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("fjord.ovpn", "vpn"),
        ("Where is fjord.ovpn?", "vpn"),
        ("/etc/openvpn", "vpn"),
        ("112233", "pump"),
        ("Which part is 112233-k?", "pump"),
        ("What runs on stg-04?", "staging"),
        ("prod-db-01", "primary"),
        ("mail.example", "bills"),
        ("0042", "invoice"),
        ("Who is Lisa?", "bike"),
        ("2.4.1", "rollback"),
        ("What happened to v2.4.1?", "rollback"),
    ],
)
def test_a_part_of_what_the_index_keeps_whole_is_found(ask_wholes, question, name):
    found, warnings = ask_wholes(question, {"legs": ["keyword"]})
    assert (found[:1], len(warnings)) == ([name], 1)


@pytest.mark.parametrize(
    ("question", "name"), [("Obrien", "vet"), ("Who is OBrien?", "vet"), ("Luca dangelo", "tuner")]
)
def test_a_name_is_found_without_its_apostrophe(ask_wholes, question, name):
    found, warnings = ask_wholes(question, {"legs": ["keyword"]})
    assert (found[:1], len(warnings)) == ([name], 1)


def test_each_whole_that_has_a_part_is_found(ask_wholes):
    assert {*ask_wholes("example.net", {"legs": ["keyword"]})[0]} == {"staging", "primary"}


def test_a_part_of_many_wholes_finds_some_of_them(runtime, new_person):
    ask = asking(runtime, new_person("ida"), {f"n{n}": f"web-{n}.heron.example serves the maps" for n in range(9)})
    found, warnings = ask("heron.example", {"legs": ["keyword"]})
    assert (len(found), len(warnings)) == (2, 1)


def test_where_nothing_else_is_found_every_word_may_be_a_part(ask_wholes):
    assert ask_wholes("cucumbers", {"legs": ["keyword"]})[0] == ["food"]


@pytest.mark.parametrize(
    "question",
    ["12233", "stg-05", "jord.ovpn", "fjord.ov", "178.42", "4711", "0761 443", "443-21", "v2.4.2", "ucumber"],
)
def test_what_only_looks_like_a_part_is_not_found(ask_wholes, question):
    assert ask_wholes(question, {"legs": ["keyword"]}) == ([], [])


def test_a_day_is_not_respelled_as_a_code_too(ask_values):
    found, warnings = ask_values("Which wedding was on 03/05/2024?")
    assert found[0] == "wedding"
    assert "“03/05/2024” is spelled otherwise here" in warnings


@pytest.mark.parametrize(("question", "names"), [("Which thyroyd pills?", 0), ("What does Katrin play?", 1)])
def test_what_begins_a_sentence_is_no_name_for_its_capital(ask, question, names):
    (hit, *_) = ask.whole(question).hits
    assert len(hit.ranked.scored.asked.names) == names


def test_an_ordinary_word_is_no_slip_of_another(ask):
    assert ask("Which color do I like most?")[1] == []
    assert ask("What is the dish water for?")[1] == []
    assert ask("patrol") == ([], [])
    assert ask("Was darf Mia morgens nicht essen?")[1] == [], "in German it is one"
    assert ask("What does Cathrin play?")[1] == [], "who begins otherwise is somebody else"


def test_a_quoted_phrase_is_taken_as_it_is_written(ask):
    assert ask('"FRKM2087"') == ([], [])


def test_what_is_narrowed_away_lends_no_spelling(ask):
    assert ask("FRKM2087", types=("preference",)) == ([], [])


def test_a_policy_may_respell_nothing(ask):
    assert ask("FRKM2087", {"respellings": 0})[1] == []
    assert len(ask("Did Soeren see Goerlitz?", {"respellings": 1})[1]) == 1


def test_where_nothing_else_is_found_ordinary_words_are_compared_too(ask):
    assert ask("cafe", {"legs": ["keyword"]}) == (["piano"], ["“cafe” is spelled otherwise here"])


def test_a_word_is_compared_once_in_a_search_that_finds_nothing(ask, monkeypatch):
    compared = []
    read = respelling.fetch

    def watched(session, statement, values):
        if "shortest" in values:
            compared.append((values["first"], values["shortest"]))
        return read(session, statement, values)

    monkeypatch.setattr(respelling, "fetch", watched)
    assert ask("Is Zvonimir a doctor?") == ([], [])
    # The name may be off by a slip, but not what English texts have.
    assert compared == [("z", len("zvonimir") - 3), ("d", len("doctor") - 2)]


def test_the_passage_that_is_shown_speaks_of_what_was_found(ask):
    (hit,) = ask.whole("Hoefner", token_budget=40).hits
    assert "Höfner" in hit.snippet


def test_without_words_nothing_is_respelled(ask):
    assert ask("FRKM2087", {"legs": ["semantic"]})[1] == []


def test_what_is_missing_is_told_once_however_often_it_is_asked(ask):
    found = ask.whole("Goerlitz", by=None)
    assert ([hit.snippet for hit in found.hits], found.degraded) == ([NOTES["tires"]], ("semantic",))


def test_a_long_number_is_not_taken_apart(ask):
    """Each of its parts would be looked for: thousands."""
    found = ask.whole("-".join(["0123456789abcdef"] * 8) + " Goerlitz")
    assert found.timings["respell"] < 500
    assert list(found.warnings) == ["“Goerlitz” is spelled otherwise here"]


def test_a_long_question_is_compared_with_what_is_known_word_by_word():
    """Each of its words with each of those known took fifty times as long."""
    words = ["".join(each) for each in product("bcdfghjklmn", repeat=3)][:1200]
    spent = []
    for _ in range(3):
        begun = thread_time()
        found = list(slips.unknown_words(" ".join(f"{each}endings" for each in words), words))
        assert len(found) == len(words)
        spent.append(thread_time() - begun)
    assert min(spent) < 0.06


def test_one_long_word_takes_no_longer_than_many_words(ask):
    """Each of its letters was compared with all that follow."""

    def spent(question):
        taken = []
        for _ in range(3):
            begun = thread_time()
            ask(question, {"legs": ["keyword"]})
            taken.append(thread_time() - begun)
        return min(taken)

    letters = "bcdfghjklmnpqrstvwxz" * 400
    many = " ".join(letters[place : place + 100] for place in range(0, len(letters), 100))
    assert spent(letters) < 2 * spent(many)


def test_a_part_of_a_whole_is_looked_for_as_long_as_a_whole_may_be(runtime, new_person):
    part = "glacier" * 17
    ask = asking(runtime, new_person("ida"), {"map": f"The map lies in maps/{part}.pdf", "hut": "The hut is closed"})
    assert (len(part), ask(part, {"legs": ["keyword"]})[0]) == (119, ["map"])


def test_all_that_is_written_otherwise_is_put_in_its_place():
    spellings = [Spelling(4, "Soren", "Søren"), Spelling(10, "0761443", "0761/443")]
    assert rewritten("Did Soren 0761443?", spellings) == "Did Søren 0761/443 ?"


CODES = {
    "boiler": "The boiler shows E-119 when its pressure is low",
    "login": "PROJ-1234 is about the slow login",
    "toner": "The printer needs the toner TN2420",
    "fan": "RTX4090 is too loud",
    "view": "ORA-00942 came up when the view was missing",
    "password": "ORA-01017 is a wrong password",
    "printer": "The printer takes HP 305XL",
    "car": "The car showed P0420 after the tunnel",
    "crane": "The crane KR-77 is in the yard",
    "winch": "The winch KR-077 is on the roof",
    "gate": "Gate QX-05 leads to the garden",
}
# More than are looked at, each with more of the parts than the text that is meant.
NUMBERED = {f"n{n}": f"Crate {n} came on lines 1, 2, 4, 9, 12, 19, 20, 23, 24, 34, 40 and 90" for n in range(100, 140)}


@pytest.fixture(scope="module")
def ask_codes(runtime, new_person):
    asked = asking(runtime, new_person("fay"), {**CODES, **NUMBERED})

    def meant(question):
        found, warnings = asked(question, {"legs": ["keyword"]})
        return [each for each in found if each in CODES], warnings

    return meant


@pytest.mark.parametrize(
    ("question", "name"), [("E119", "boiler"), ("PROJ1234", "login"), ("TN-2420", "toner"), ("RTX 4090", "fan")]
)
def test_a_code_is_found_among_many_texts_with_parts_of_it(ask_codes, question, name):
    found, warnings = ask_codes(question)
    assert (found, warnings) == ([name], [f"“{question}” is spelled otherwise here"])


JOINED = {
    "chat": "The chat server is written in Node.js, which Torvi mends",
    "notes": "README.md says how to begin",
    "mail": "The S/MIME certificate of the office expired",
    "farid": "Farid Ph.D. lives in Basel",
    "nora": "Nora finished her PhD in 2021",
}


@pytest.fixture(scope="module")
def ask_joined(runtime, new_person):
    return asking(runtime, new_person("gil"), JOINED)


@pytest.mark.parametrize(
    ("question", "name"), [("ORA-942", "view"), ("ora 0942", "view"), ("P420", "car"), ("KR77", "crane")]
)
def test_a_code_is_found_with_other_zeros_before_its_number(ask_codes, question, name):
    found, warnings = ask_codes(question)
    assert (found[:1], len(warnings)) == ([name], 1)


def test_a_code_is_found_with_letters_behind_its_number(ask_codes):
    found, warnings = ask_codes("HP 305")
    assert (found[:1], warnings) == (["printer"], ["“HP 305” is spelled otherwise here"])


def test_what_one_note_writes_as_it_is_asked_is_found_where_another_does_not(ask_joined):
    found, warnings = ask_joined("Farid PhD")
    assert (found[:1], warnings) == (["farid"], ["“PhD” is spelled otherwise here"])


@pytest.mark.parametrize("question", ["HP 30", "HP 3050", "HP 304", "ORA-9420", "ORA-94", "P42", "KR-770", "QX-50"])
def test_another_number_is_no_other_zeros(ask_codes, question):
    assert ask_codes(question)[1] == []


@pytest.mark.parametrize("question", ["Node.js", "Who mends Node.js?", "README.md", "s/mime"])
def test_no_part_of_what_is_there_as_a_whole_is_respelled(ask_joined, question):
    found, warnings = ask_joined(question, {"legs": ["keyword"]})
    assert (len(found), warnings) == (1, [])
