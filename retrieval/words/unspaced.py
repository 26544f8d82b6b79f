"""Questions in scripts of which the database keeps pairs of characters: no word of theirs is on any list of words."""

from __future__ import annotations

import re

from memory.texts.scripts import UNSPACED

# What any question has, as English has "what", "where" and "tell me", in Japanese, Chinese, Korean and Thai.
# Not where it is part of another word: "ぶどう", "などの", "吗啡", "왜관", "ผ้าไหม".
_ASKING = re.compile(
    r"""
    (?<![\u3400-\u9fff])何 | どこ(?!ろ) | (?<!な)どの | どれ | どんな | どちら | (?<!ぶ)どう(?:です|して|やって|すれば)
  | (?<![あこそどや])いつ(?![もか]) | (?<![すよ])だれ | 誰 | なぜ | いくら(?=[でかし]|\W|\Z) | いくつ
  | (?:は|が)?(?:です|でした|ます|ました|でしょう|だろう|だった)か | ください | 教えて | について
  | 什么时候 | 什么 | 怎么样 | 怎么 | 怎样 | 哪里 | 哪儿 | 哪个 | 哪些 | 谁 | 多少 | 为什么
  | 几[点个号次岁] | 请问 | 告诉我
  | 什麼時候 | 什麼 | 怎麼樣 | 怎麼 | 怎樣 | 哪裡 | 哪兒 | 哪個 | 哪些 | 為什麼 | 幾[點個號次歲] | 請問 | 告訴我
  | 关于 | 關於 | 吗(?!啡) | 嗎(?!啡) | 呢(?!子)
  | (?<!\w)(?: 무엇(?:을|이|인가요)? | 뭐 | 어디(?:에|서|에서)? | 언제 | 누구 | 누가 | 왜(?!\w) | 어떻게 | 얼마 | 어떤 )
  | 인가요 | 입니까 | 있나요 | 알려줘
  | อะไร | ที่ไหน | ไหน | เมื่อไหร่ | เมื่อไร | ใคร | ทำไม | อย่างไร | ยังไง | เท่าไหร่ | เท่าไร | กี่ | ไหม(?=\W|\Z)
    """,
    re.VERBOSE,
)


def is_unspaced(question: str) -> bool:
    """Tell whether most letters and digits of a question are of such a script.

    >>> is_unspaced("猫の名前は?"), is_unspaced("Where is 渋谷?")
    (True, False)
    """
    letters = [each for each in question if each.isalnum()]
    return 2 * sum(UNSPACED.match(each) is not None for each in letters) > len(letters)


def telling(question: str) -> str:
    """Return a question without what any question in such a script has; all of it where nothing else is left.

    >>> telling("猫の名前は何ですか?"), telling("护照放在哪里?"), telling("谁?"), telling("What is 何?")
    ('猫の名前は  ?', '护照放在 ?', '谁?', 'What is  ?')
    """
    left = _ASKING.sub(" ", question) if UNSPACED.search(question) else question
    return left if re.search(r"\w", left) else question
