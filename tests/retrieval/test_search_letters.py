"""Words are found whatever digits, vowels and shape of letters they were written with, in scripts other than Latin."""

from __future__ import annotations

import pytest

from retrieval.words.passage import found_in

# Each text with what people write for a word of it.
WRITTEN = {
    "رقم الغرفة ٤٥٢١ في الفندق": "4521",
    "رقم البوابة 7788 في المطار": "٧٧٨٨",
    "قلمي ٤٥ في الدرج": "قلمي 45",
    "شماره پرواز ۹۰۳۴ است": "9034",
    "ट्रेन नंबर १२३४५ है": "12345",
    "ห้อง ๔๕๖๗ ชั้นสาม": "4567",
    "کتاب\u200c\u0647\u0627یم در کمد است": "کتابهایم",
    "کلید یدکی زیر گلدان است": "كليد يدكي",
    "مُحَمَّد يُحِبُّ القَهْوَةَ": "محمد القهوة",
    "أختي تسكن في إسطنبول": "اسطنبول",
    "العـــربية لغتي": "العربية",
    "ﻣﺼﻄﻔﻰ ﺻﺪﻳﻘﻲ": "مصطفى",
    "שָׁלוֹם לְדָנִיאֵל": "לדניאל",
    "Моя ёлка стоит в углу": "елка",
    "\u039f ΟΔΥΣΣΕΑΣ είναι σκύλος": "Οδυσσέας",
    "ज़रूरी काग़ज़ अलमारी में है": "जरूरी कागज",
    "Die Stra\u00dfen\u00adbahn f\u00e4hrt": "Straßenbahn",
    "The hint is tur\u200bquoise": "turquoise",
    "The of\ufb01ce is upstairs": "office",
    "Water is H\u2082O": "H2O",
    "İzmir'de oturuyorum": "izmir",
}


@pytest.fixture(scope="module")
def ask(asking):
    return asking("leila", dict(zip(WRITTEN, WRITTEN, strict=True)))


@pytest.mark.parametrize(("text", "asked"), WRITTEN.items())
def test_a_text_is_found_by_its_words_as_others_write_them(ask, text, asked):
    assert ask(asked, {"legs": ["keyword"]})[:1] == [text]


def test_a_quoted_name_is_found_between_words_that_no_blank_parts_from_it(asking):
    ask = asking("hana", {"私のiPhoneは引き出しの中": "phone", "The iPhones are sold": "many"})
    assert ask('"iPhone"') == ["phone"]


@pytest.mark.parametrize(
    ("text", "question", "marked"),
    [
        ("मेरी बिल्ली का नाम रानी है", "बिल्ली", ["बिल्ली"]),
        ("আমার বিড়ালের নাম মিনি", "নাম?", ["নাম"]),
        ("இது என் வீடு", "வீடு", ["வீடு"]),
        ("مُحَمَّد هنا", "محمد", ["مُحَمَّد"]),
        ("می\u200cخو\u0627\u0647م بروم", "میخواهم", ["می\u200cخو\u0627\u0647م"]),
        ("room ٤٥٢١ is free", "4521", ["٤٥٢١"]),
        ("Kedim İzmir'de", "izmir", ["İzmir"]),
    ],
)
def test_the_word_that_was_asked_for_is_marked_whole(text, question, marked):
    assert [text[start:end] for start, end, _ in found_in(text, question)] == marked
