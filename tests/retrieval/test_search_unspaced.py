"""Words are found in scripts without blanks between them, and however their letters were put together."""

from __future__ import annotations

import unicodedata
from importlib import import_module

import pytest

from memory.texts.scripts import UNSPACED
from retrieval.words.unspaced import telling

migration = import_module("memory.migrations.versions.0019_unspaced")
NOTES = {
    "phone": "田中さんの電話番号は内線四二一です",
    "cat": "うちの猫は三毛で名前はタマといいます",
    "dentist": "歯医者の予約は六月十二日の午後三時",
    "kyoto": "来月は京都に出張して清水寺にも寄る予定",
    "allergy": "息子は卵アレルギーなので給食は弁当を持たせる",
    "printer": "プリンターのトナーは会社の倉庫の二段目にある",
    "train": "終電は渋谷を零時十分に出る",
    "wifi": "会議室のWi-Fiのパスワードは白板の裏に書いてある",
    "mother": "我妈妈喜欢喝龙井茶,不喜欢咖啡",
    "rent": "房租每个月一号之前转给王房东",
    "doctor": "李医生建议我每天走八千步",
    "passport": "护照放在书房左边的抽屉里",
    "project": "凤凰项目的截止日期推迟到九月底",
    "dog": "狗粮快吃完了,要买鸡肉味的",
    "key": "备用钥匙在邻居张阿姨家",
    "seoul": "다음 주에 서울에서 민수와 점심을 먹기로 했다",
    "gym": "헬스장은 월요일마다 쉰다",
    "medicine": "할머니의 혈압약은 부엌 서랍에 있다",
    "market": "ตลาดนัดใกล้บ้านเปิดทุกวันเสาร์",
    "car": "รถยนต์ต้องเปลี่ยนน้ำมันเครื่องเดือนหน้า",
    "english": "The boat is in the harbour until October",
    "tea": "Ola drinks her tea without milk",
}
QUESTIONS = [
    *[("田中さん", "phone"), ("電話番号", "phone"), ("田中さんの内線は何番ですか?", "phone"), ("猫", "cat")],
    *[("猫の名前は?", "cat"), ("タマ", "cat"), ("歯医者", "dentist"), ("歯医者はいつですか?", "dentist")],
    *[("京都", "kyoto"), ("清水寺", "kyoto"), ("出張はどこですか?", "kyoto"), ("卵", "allergy")],
    *[("アレルギー", "allergy"), ("トナーはどこにありますか?", "printer"), ("終電", "train"), ("Wi-Fi", "wifi")],
    *[("パスワード", "wifi"), ("龙井茶", "mother"), ("妈妈喜欢喝什么?", "mother"), ("茶", "mother"), ("房租", "rent")],
    *[("什么时候交房租?", "rent"), ("李医生", "doctor"), ("护照", "passport"), ("护照放在哪里?", "passport")],
    *[("凤凰项目", "project"), ("狗", "dog"), ("备用钥匙在谁那里?", "key"), ("钥匙", "key"), ("서울", "seoul")],
    *[("민수", "seoul"), ("헬스장", "gym"), ("혈압약", "medicine"), ("할머니 혈압약 어디", "medicine")],
    *[("ตลาดนัด", "market"), ("น้ำมันเครื่อง", "car"), ("รถยนต์", "car")],
]


@pytest.fixture(scope="module")
def ask(asking):
    return asking("yuki", {text: name for name, text in NOTES.items()})


@pytest.mark.parametrize(("question", "name"), QUESTIONS)
def test_a_note_is_found_by_its_words(ask, question, name):
    assert ask(question)[:1] == [name]


@pytest.mark.parametrize(("question", "name"), QUESTIONS)
def test_the_keyword_leg_alone_finds_it(ask, question, name):
    assert ask(question, {"legs": ["keyword"]})[:1] == [name]


@pytest.mark.parametrize("question", ["自転車", "飞机票", "비행기", "จักรยาน", "自転車はどこですか?", "飞机票在哪里?"])
def test_what_no_note_has_finds_nothing(ask, question):
    assert ask(question) == []


def test_an_english_question_is_searched_for_by_its_meaning_too(ask):
    assert ask("Where does my ship lie?")[:1] == ["english"]


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("ぶどうはどこですか", "ぶどうは "),
        ("吗啡在哪里", "吗啡在 "),
        ("왜관 역", "왜관 역"),
        ("ผ้าไหมราคาเท่าไหร่", "ผ้าไหมราคา "),
    ],
)
def test_what_any_question_has_is_left_out_and_no_part_of_a_word(question, left):
    assert " ".join(telling(question).split()) == left.strip()


def test_the_scripts_are_those_that_the_database_takes_apart():
    assert UNSPACED.pattern == f"[{migration.UNSPACED}]"


APART = {
    "Müller on Rosenstraße is where Chloé works": "muller",
    "Peña keeps bees near Ávila": "pena",
    "Åsa borrowed the drill": "asa",
    "Lessons with Nguyễn on Tuesdays": "nguyen",
    "ガレージの鍵は青い箱にある": "garage",
    "한국어 수업은 화요일이다": "korean",
}
ASKED = [("Müller", "muller"), ("Peña", "pena"), ("Åsa", "asa"), ("Nguyễn", "nguyen"), ("ガレージ", "garage")]


@pytest.fixture(scope="module", params=["NFC", "NFD"])
def ask_those(asking, request):
    notes = {unicodedata.normalize(request.param, text): name for text, name in APART.items()}
    return asking(f"ines-{request.param}", notes)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
@pytest.mark.parametrize(
    ("question", "name"), [*ASKED, ("화요일", "korean"), ("한국어", "korean"), ('"Ávila"', "pena")]
)
def test_a_letter_and_its_accent_are_one_or_two_characters(ask_those, form, question, name):
    assert ask_those(unicodedata.normalize(form, question), {"legs": ["keyword"]})[:1] == [name]


def test_the_width_of_letters_does_not_matter(ask_those):
    assert [ask_those(each)[:1] for each in ("ｶﾞﾚｰｼﾞ", "Ｍüｌｌｅｒ")] == [["garage"], ["muller"]]
