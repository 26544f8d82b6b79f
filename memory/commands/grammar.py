"""The patterns of commands, first match first. Each must match a whole sentence, so that talk about memory is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
_ORDINAL = r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|last)"
_ONE = r"(?:memory|note|fact|one|thing|entry|item|result)"
_THAT = (
    r"(?:that|this|it|that last (?:one|thing|memory)|the last (?:thing|memory)(?: (?:you remembered|i said"
    r"|i told you))?"
    rf"|(?:that|this) {_ONE}|what i just (?:said|told you)|what you just (?:remembered|stored|saved))"
)
_THOSE = (
    r"(?:them|those|these|both|(?:all|both) of (?:them|those|these|that)|them all|all (?:those|these)"
    rf"|(?:those|these) {_ONE}s)"
)
_PLACE = rf"(?P<place>(?:the )?{_ORDINAL}(?: {_ONE})?|(?:number|no\.?|{_ONE}|#) ?\d{{1,2}}|\d{{1,2}})"
_BY_ID = rf"(?:{_ONE} |id |#)?(?P<id>{_UUID})"
_ABOUT = r"(?:about|regarding|concerning|on|related to|to do with)"
_SUBJECT = r"(?P<subject>\S.{0,300}?)"
_TEXT = r"(?P<subject>\S.*)"

_SWITCH = r"(?=go\b|turn\b|switch\b|start\b|stop\b|end\b|undo\b|pin\b|unpin\b|forget (?:that|this|what)\b)"
POLITE_START = re.compile(
    r"(?:no, |(?:hey|hi|hello|ok|okay|oh|so|well|and|now|also|actually|alright|right|no wait|wait|sorry|oops|whoops"
    r"|great|thanks|thank you|commonplace|assistant|then)\b[\s,.!:;-]+"
    r"|(?:please|kindly|just)\b[\s,]*"
    r"|(?:can|could|would|will) you (?:please )?(?:just )?"
    r"|i(?:'d| would) (?:like|love) you to "
    r"|i (?:want|need) you to "
    rf"|i(?:'d like| would like| want| need) to {_SWITCH}"
    r"|(?:i think )?you (?:should|can|may) (?=forget\b|pin\b|unpin\b)"
    rf"|let(?:'s|s| us) {_SWITCH})",
    re.IGNORECASE,
)
POLITE_END = re.compile(
    r"(?:[\s,]+(?:please|thanks|thank you|thx|for me|ok|okay|right away|(?:right )?now|will you|would you)"
    r"|[\s.!?\u2026]+)$",
    re.IGNORECASE,
)

# Of what is to be remembered no more is taken off than what cannot be part of it: "now" and "for me" can.
TOLD_END = re.compile(
    r"(?:[\s,]+please|\s*,\s*(?:thanks|thank you|thx|ok|okay|will you|would you))[\s.!?\u2026]*$", re.IGNORECASE
)
ASKING_START = re.compile(r"(?:can|could|would|will) you\b", re.IGNORECASE)


Kind = Literal[
    "recall",
    "forget",
    "pin",
    "unpin",
    "remember",
    "memory_off",
    "memory_on",
    "incognito_start",
    "incognito_end",
    "undo",
    "confirm",
    "cancel",
    "choose",
    "none",
]
# What is meant: the last memory, all of the last ones, one of a list, one by its id, whatever fits some words, what was
# kept at a time (it is no command if the words name none), all that there is, or what is no longer there.
Target = Literal["nothing", "last", "all", "place", "id", "about", "text", "time", "everything", "gone"]


@dataclass(frozen=True, slots=True)
class Pattern:
    """One way to say something: what it asks for, how sure that is, and what it is done to."""

    kind: Kind
    target: Target
    confidence: float
    words: re.Pattern[str]


def _say(kind: Kind, target: Target, confidence: float, *forms: str) -> list[Pattern]:
    return [Pattern(kind, target, confidence, re.compile(form, re.IGNORECASE | re.DOTALL)) for form in forms]


_FORGET = r"(?:(?:permanently|completely) )?(?:forget|delete|erase|remove|drop|scrap|discard|unlearn|purge)"
_FORGET_HERE = rf"{_FORGET}|get rid of|wipe"
# Of more than memories is it said that "that" is cleared.
_FORGET_ABOUT = rf"{_FORGET_HERE}|clear"
_FROM_MEMORY = (
    r"(?: (?:from|out of) (?:your |my |the )?memor(?:y|ies))?(?: (?:for good|for ever|forever|permanently|completely))?"
)
# The end of a word, mostly, that says what somebody does or did.
_TELLS = (
    r"(?:is|are|was|were|has|have|had|will|would|can|could|does|did|\w+n't|\w*[^\Ws]s|\w+ed|went|got|came|said|told|left|lost"
    r"|met|took|made|kept|gave|bought|sold|knew|found|paid)"
)
_NO_WISH = r"i (?:don'?t|do not) want you to|you (?:don'?t|do not) (?:need|have) to|you need(?:n't| not)"
_MEMORY = r"(?:the |your |my )?(?:long[- ]term )?memory"
_SESSION = (
    r"(?: (?:for|in|on|during) (?:this|the) (?:chat|session|conversation|thread|talk)"
    r"| here| from here on| from now on)?"
)
_KEPT = "(?:stored|saved|noted|remembered)"
_KNOW = rf"(?:know|remember|recall|have {_KEPT})"
_SAID = (
    r"(?: (?:that )?(?:i|we|you|i've|you've|i have|you have) (?:ever |just )?(?:said|told you|mentioned|wrote|talked"
    rf"|{_KNOW}|heard|learned|got|have)(?: to you)?)"
)
_NOTE = r"(?:(?:the |my |your |that )?(?:memory|note|fact|entry))"
# Who says one of these wants it done to whatever there is, and is asked before it is done even to one.
_NOTES = (
    r"(?:(?:(?:all|any|both)(?: of)? )?(?:the |my |your |our |those |these )?(?:memories|notes|facts"
    r"|entries)|(?:every|each|any)(?: single)? (?:memory|note|fact|entry))"
)
_THINGS = (
    rf"(?:everything|anything(?: and everything)?|whatever|all(?: that)?|(?:all |any )?(?:of )?the things|{_NOTES})"
)
_SEVERAL = rf"(?P<several>{_THINGS})"
_ALL = (
    rf"(?:absolutely )?(?:everything|anything|whatever|all(?: of it)?|it all|{_NOTES})(?:{_SAID}| there is"
    r"| in (?:your |my |the )?memory)?(?: about me)?"
)

# How the subject begins of who wants forgotten whatever was said, of which a time may tell the rest.
ALL_SAID = re.compile(rf"(?:{_THINGS}|what)\b", re.IGNORECASE)

# A day behind "on", and a time behind "talked about": of other words it is about a thing.
_ON_A_DAY = (
    r"on (?:the |last )?(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{4}-\d\d-\d\d"
    r"|(?:\d{1,2}(?:st|nd|rd|th)?(?: of)? MONTH|MONTH (?:the )?\d{1,2}(?:st|nd|rd|th)?)(?:,? \d{4})?)"
).replace("MONTH", r"(?:jan|feb|mar|apr|may|june?|july?|aug|sep|oct|nov|dec)[a-z]{0,6}\.?")
_TALKED_THEN = (
    rf"(?:i|we|you)(?: just)? (?:talked|spoke) about (?:{_ON_A_DAY}|yesterday|today"
    r"|(?:last|this) (?:night|week|month|year))"
)

# Before what takes something back; before "forget that" it says that the same is meant as by itself: nothing.
_NEVER_MIND = r"(?:never ?mind(?: (?:that|it))?[\s,.!:;-]+)?"

PATTERNS: tuple[Pattern, ...] = (
    *_say(
        "undo",
        "nothing",
        1.0,
        rf"{_NEVER_MIND}undo(?: (?:that|this|it|the last (?:thing|action|command|step|one)|what you just did))?",
        rf"{_NEVER_MIND}(?:take (?:that|it) back|revert(?: (?:that|this|it))?|roll (?:that|it) back)",
        rf"{_NEVER_MIND}(?:scratch|strike) (?:that|this|it|(?:that|the) last (?:thing|command|one))",
        r"i didn'?t mean (?:to do that|you to do that)|cancel that last (?:thing|command)",
    ),
    *_say(
        "undo",
        "gone",
        1.0,
        r"put (?:that|it) back|(?:bring|get) (?:that|it|the memory) back",
        r"(?:restore|bring back) (?:that|it|the memory|what you (?:just )?forgot)|i didn'?t mean to forget (?:that|it)",
        r"undo (?:the|that) forgetting",
        r"un-?forget (?:that|it|this)|remember (?:that|it) again",
    ),
    *_say("undo", "nothing", 0.6, r"(?:that|it) was a mistake|i changed my mind"),
    *_say(
        "incognito_start",
        "nothing",
        1.0,
        rf"(?:start|begin|enter|open|turn on|switch on|enable|activate) (?:an? )?incognito(?: mode"
        rf"| session)?{_SESSION}",
        rf"(?:go|stay|be|switch to|turn) incognito(?: mode)?{_SESSION}|incognito(?: mode)?(?: on)?{_SESSION}",
        rf"(?:turn|switch) incognito(?: mode)? on{_SESSION}|make (?:this|the) (?:chat|session"
        rf"|conversation) (?:incognito|private)",
        rf"(?:go|stay|let(?:'s| us) go|this is|keep this|we are|we're) off the record{_SESSION}"
        rf"|off the record{_SESSION}",
        r"(?:start|begin|open) (?:an? )?(?:private|off[- ]the[- ]record) (?:chat|session|conversation|mode)",
        r"(?:do not|don'?t) (?:remember|store|record|save|keep) (?:anything|any of this|what i say|what we say)"
        r"(?: (?:in|from|during) (?:this|the) (?:chat|session|conversation))",
    ),
    *_say(
        "incognito_end",
        "nothing",
        1.0,
        rf"(?:end|stop|leave|exit|quit|close|turn off|switch off|disable|finish) (?:the )?incognito(?: mode"
        rf"| session)?{_SESSION}",
        rf"(?:turn|switch) incognito(?: mode)? off{_SESSION}|incognito(?: mode)? off{_SESSION}|no (?:more"
        rf"|longer) incognito",
        rf"(?:go|be|we are|we're) (?:back )?on the record(?: again)?{_SESSION}|back on the record"
        rf"|come out of incognito",
        r"(?:end|stop|leave) (?:the )?(?:private|off[- ]the[- ]record) (?:chat|session|conversation|mode)",
    ),
    *_say(
        "memory_off",
        "nothing",
        1.0,
        rf"(?:turn|switch) (?:off {_MEMORY}|{_MEMORY} off)|(?:disable|deactivate|pause|suspend|stop) {_MEMORY}"
        rf"|memory off",
        r"(?:stop|quit) (?:remembering|memori[sz]ing|storing|recording|saving)"
        r"(?: (?:things|anything|everything|stuff|what i say|my (?:words|messages)|memories))?(?: about me)?",
        r"(?:do not|don'?t) (?:remember|store|record|save|keep) anything(?: (?:any ?more|about me|else))*"
        r"|remember nothing(?: more| from now on)?",
        r"no more (?:remembering|memories|memory)",
    ),
    *_say(
        "memory_on",
        "nothing",
        1.0,
        rf"(?:turn|switch) (?:on {_MEMORY}|{_MEMORY} (?:back )?on)(?: again)?|(?:enable|activate|resume"
        rf"|restart) {_MEMORY}|memory on",
        r"(?:turn|switch) (?:your |my |the )?memory (?:back )?on(?: again)?",
        r"(?:start|begin|resume) (?:remembering|memori[sz]ing|storing|recording)(?: (?:things"
        r"|what i say))?(?: again)?|remember (?:things )?again",
        r"you (?:can|may) remember(?: things)? again",
    ),
    *_say(
        "confirm",
        "nothing",
        0.9,
        r"(?:yes|yeah|yep|yup|sure|confirm(?:ed)?|go ahead|do (?:it|that)|i'?m sure|yes[, ]+(?:i'?m sure|do it"
        r"|do that|go ahead|forget (?:it|them|that|those|all of them|them all)|all of them)"
        r"|all(?: of (?:them|those|these))?|them all)",
    ),
    *_say(
        "cancel",
        "nothing",
        0.9,
        r"(?:no|nope|cancel|never ?mind(?: that)?|forget (?:about )?it,? (?:never ?mind|it'?s fine)|leave (?:it|them)"
        r"|keep (?:it|them)|stop|don'?t(?: do (?:it|that))?)(?:[, ]+(?:thanks|leave (?:it|them)|keep (?:it|them)"
        r"|don'?t))?",
        r"(?:none|neither)(?: of (?:them|those|these))?",
    ),
    # Which of those that it was asked about.
    *_say("choose", "nothing", 0.9, rf"(?:only )?{_PLACE}"),
    *_say(
        "remember",
        "text",
        0.95,
        rf"(?:remember|memori[sz]e|note(?: down)?|take note|keep in mind|bear in mind|don'?t forget|do not forget"
        rf"|never forget) that[ :,]+{_TEXT}",
        rf"(?:remember|memori[sz]e|remember this|note(?: this)?(?: down)?|note that down|take a note|save this"
        rf"|store this|don'?t forget|do not forget)(?: to memory)?: ?{_TEXT}",
        rf"(?:make|take) a note(?: that|:)[ ,]*{_TEXT}",
        rf"(?:save|store|add|put|commit) (?:to|in|into) (?:your |my |the )?memory(?: that\b|:)?[ ,]+{_TEXT}",
        rf"(?:make sure (?:you |to )|be sure to )remember that[ :,]+{_TEXT}",
        rf"for (?:future reference|the record|later)[,:] ?(?:remember (?:that )?)?{_TEXT}",
    ),
    *_say("remember", "text", 0.85, r"remember (?P<subject>(?:my|our|i|i'm|i've|we) (?!talk|chat|discuss)\S.*)"),
    *_say(
        "unpin",
        "last",
        1.0,
        rf"(?:unpin|un-pin) (?:{_BY_ID}|{_PLACE}|{_THAT})|(?:stop|no longer) (?:pinning|pin) {_THAT}",
        rf"(?:remove|take) the pin(?: (?:from|off) {_THAT})?|take the pin off {_THAT}|un-?pin",
        rf"{_THAT} (?:need not|doesn'?t need to|does not need to|no longer needs to) (?:be|stay) pinned|(?:do not"
        rf"|don'?t) (?:keep )?(?:pin|pinning) {_THAT}(?: any ?more)?",
        r"(?:let go of|loosen|release) the pin",
    ),
    *_say("unpin", "all", 1.0, rf"(?:unpin|un-pin) {_THOSE}"),
    *_say(
        "unpin",
        "about",
        0.95,
        rf"(?:unpin|un-pin) (?:{_SEVERAL}{_SAID}?|(?:the |my )?{_ONE}{_SAID}?|what{_SAID}) {_ABOUT} {_SUBJECT}",
    ),
    *_say(
        "pin",
        "last",
        1.0,
        rf"pin (?:{_BY_ID}|{_PLACE}|{_THAT})(?: (?:down|to the top|for good|forever|in memory|permanently))?|pin",
        rf"(?:keep|hold on to|hang on to|save) {_THAT} (?:pinned|forever|for good|for ever|permanently|always)",
        rf"(?:always|never stop) (?:keep|remember(?:ing)?) {_THAT}|never (?:drop|lose|forget|trim) {_THAT}",
        rf"mark {_THAT} as (?:important|pinned|a keeper)|make {_THAT} (?:permanent|stick|a pinned memory)",
        rf"(?:put|stick) a pin (?:in|on) {_THAT}|(?:please )?(?:do not|don'?t) (?:ever )?(?:drop|lose|trim) {_THAT}",
    ),
    # Said in passing, too: asked about before anything is done.
    *_say("pin", "last", 0.6, rf"{_THAT}(?: is|'s) (?:very |really )?important"),
    *_say("unpin", "last", 0.6, rf"{_THAT}(?: is|'s) (?:not|no longer) (?:that )?important(?: any ?more)?"),
    *_say("pin", "all", 1.0, rf"pin {_THOSE}"),
    *_say(
        "pin",
        "about",
        0.95,
        rf"pin (?:{_SEVERAL}{_SAID}?|(?:the |my )?{_ONE}{_SAID}?|what{_SAID}) {_ABOUT} {_SUBJECT}",
    ),
    # Everything there is: that needs a subject.
    *_say("pin", "everything", 0.95, rf"pin {_ALL}"),
    *_say("unpin", "everything", 0.95, rf"(?:unpin|un-pin) {_ALL}"),
    *_say(
        "forget",
        "everything",
        0.95,
        rf"(?:forget|delete|erase|wipe) {_ALL}",
        rf"(?:{_FORGET_HERE}) {_ALL} (?:from|out of) (?:your |my |the )?memor(?:y|ies)",
        r"(?:clear|wipe|empty) (?:out )?(?:all of )?(?:your |my |the )(?:whole |entire )?memory",
    ),
    # What people say when they mean: never mind.
    *_say("forget", "last", 0.6, r"forget it"),
    *_say("forget", "last", 1.0, rf"(?:{_FORGET_HERE}) (?:{_BY_ID}|{_PLACE}|{_THAT}){_FROM_MEMORY}"),
    *_say(
        "forget",
        "last",
        0.95,
        rf"(?:do not|don'?t) (?:remember|keep|store|save) {_THAT}(?: any ?more)?|forget (?:that )?i (?:just )?(?:said"
        rf"|told you|mentioned) {_THAT}",
        rf"(?:strike|take) {_THAT} (?:from|off|out of) (?:the record|your memory|memory)|(?:wipe"
        rf"|erase) {_THAT} from (?:your |the )?memory",
        rf"(?:that|this|it) (?:should|must) (?:not be remembered|be forgotten)|i (?:want|need"
        rf"|wish) {_THAT} (?:to be )?(?:forgotten|gone|deleted|erased)",
    ),
    *_say("forget", "last", 0.95, rf"(?:{_NO_WISH}) (?:remember|keep|store|save) {_THAT}"),
    *_say("forget", "all", 1.0, rf"(?:{_FORGET_HERE}) {_THOSE}{_FROM_MEMORY}"),
    *_say(
        "forget",
        "time",
        0.95,
        rf"(?:{_FORGET_ABOUT}) (?P<subject>(?:{_THINGS}|what)(?:{_SAID} {_ON_A_DAY}| {_TALKED_THEN}))"
        rf"{_FROM_MEMORY}",
    ),
    *_say(
        "forget",
        "about",
        0.95,
        rf"(?:{_FORGET_ABOUT}) (?:{_SEVERAL}|what|the thing|{_NOTE}){_SAID} {_ABOUT} {_SUBJECT}{_FROM_MEMORY}",
        rf"(?:{_FORGET_ABOUT}) (?:(?P<several>everything|anything|all|{_NOTES})|{_NOTE}) {_ABOUT}"
        rf" {_SUBJECT}{_FROM_MEMORY}",
        rf"(?:{_FORGET_ABOUT}) (?:(?P<several>{_NOTES}|(?:all|any|every) (?:traces?|mentions?))|{_NOTE}) of"
        rf" {_SUBJECT}{_FROM_MEMORY}",
        r"forget (?:that )?(?:i|we) (?:ever |just )?(?:said anything|told you(?: anything)?|mentioned(?: anything)?)"
        rf"(?: {_ABOUT})? {_SUBJECT}",
        rf"(?:erase|remove|delete|wipe|drop) {_SUBJECT} from (?:your |my |the )?memor(?:y|ies)",
        rf"(?:do not|don'?t) remember (?:what|(?P<several>anything|everything|all))(?: i said| you know"
        rf"| i told you)? {_ABOUT} {_SUBJECT}",
    ),
    *_say(
        "forget",
        "about",
        0.9,
        r"forget (?P<several>all )?about (?!it$)(?P<subject>(?:my|our|the|his|her|their|that)\b.{1,300})",
    ),
    *_say(
        "forget",
        "text",
        0.9,
        r"forget (?:the fact )?that (?P<subject>(?:i|i'm|i've|my|we|our|he|she|they|the|his|her|their"
        r"|you)\b.{2,300})",
        rf"(?:forget the fact|(?:{_FORGET_HERE}) {_NOTE}) that {_SUBJECT}",
    ),
    # Of whom or what it is: "forget that song" tells nothing, "forget that Anna likes tea" does.
    *_say("forget", "text", 0.6, rf"forget that (?P<subject>\w\S*(?: \S+){{0,2}} {_TELLS}(?: .{{1,300}})?)"),
    *_say(
        "forget",
        "time",
        0.95,
        rf"(?:{_FORGET_HERE}) (?P<subject>{_NOTES}{_SAID}? (?:from|since|in|on|during|over) \S.{{0,60}}?)"
        rf"{_FROM_MEMORY}",
        rf"(?!forget)(?:{_FORGET_ABOUT}) (?P<subject>(?:{_THINGS}|what){_SAID} \S.{{0,60}}?){_FROM_MEMORY}",
    ),
    *_say("forget", "about", 0.6, rf"(?:{_NO_WISH}|stop) remember(?:ing)? {_SUBJECT}"),
    *_say(
        "forget",
        "about",
        0.6,
        r"forget (?!(?:about )?(?:it|that|to|me|you|yourself)\b)(?:about )?(?P<subject>\S.{1,300})",
    ),
    *_say(
        "recall",
        "everything",
        0.95,
        rf"what (?:all |else |exactly )?(?:(?:do|can) you (?:still )?(?:remember|recall)|have you {_KEPT})",
        rf"what(?:'s| is)(?: there)? in {_MEMORY}",
        rf"(?:tell me|show me|list|recall) (?:what(?:ever)?|everything|all(?: that)?) you (?:still )?{_KNOW}",
        rf"(?:show me|show|list) (?:{_NOTES}|what(?:'s| is) in {_MEMORY})",
        rf"(?:show me|show|list) (?:everything|it all)(?: there is| you have| you've got| in {_MEMORY})?",
    ),
    *_say(
        "recall",
        "time",
        0.95,
        rf"what (?:have|did) (?:i|we) (?:said|say|told|tell|mentioned|mention)(?: (?:to )?you)?"
        rf" (?P<subject>{_ON_A_DAY})",
        rf"(?:tell me|show me|show|list) (?P<subject>(?:{_THINGS}|what){_SAID} {_ON_A_DAY})",
    ),
    *_say(
        "recall",
        "about",
        0.95,
        rf"what (?:all |else |exactly )?(?:do|did|can) you (?:still )?(?:{_KNOW}|have)(?: (?:stored|saved|noted"
        rf"|in memory|on file))? {_ABOUT} {_SUBJECT}",
        rf"what (?:all |else |exactly )?have you {_KEPT} {_ABOUT} {_SUBJECT}",
        rf"what (?:have|did) (?:i|we) (?:ever )?(?:said|say|told|tell|mentioned|mention|written|write|talked"
        rf"|talk|decided?|agreed?)(?: (?:to )?you)? {_ABOUT} {_SUBJECT}",
        rf"what(?:'s| is)(?: there)? in (?:your |my |the )?memory {_ABOUT} {_SUBJECT}",
        rf"(?:do|did) you (?:still )?(?:{_KNOW}|have) (?:anything|something|things|what i (?:said|told you)"
        rf"|stuff) {_ABOUT} {_SUBJECT}",
        rf"(?:tell me|show me|list|recall|remind me(?: of)?) (?:what(?:ever)?|everything|all(?: that)?"
        rf"|anything) (?:you|i|we) (?:still )?(?:{_KNOW}|have|said|told you)(?: (?:stored"
        rf"|saved))? {_ABOUT} {_SUBJECT}",
        rf"(?:recall|(?:show me|show|list) {_NOTES}|search (?:your |my |the )?memor(?:y|ies)|look up"
        rf"|look in (?:your |my )?memory) (?:{_ABOUT}|for|of) {_SUBJECT}",
        rf"what memories do you have {_ABOUT} {_SUBJECT}",
        rf"(?:have|did) i (?:ever )?(?:told|tell|mentioned?)(?: (?:to )?you)? (?:anything )?{_ABOUT} {_SUBJECT}",
        rf"(?:remind me|tell me) (?:again )?(?:of )?what i (?:said|told you) {_ABOUT} {_SUBJECT}",
        rf"any(?:thing)? (?:memories|in memory|remembered) {_ABOUT} {_SUBJECT}",
    ),
    *_say(
        "recall",
        "time",
        0.95,
        rf"what (?:have|did) (?:i|we) (?:said|say|told|tell|mentioned|mention)(?: (?:to )?you)? {_SUBJECT}",
        rf"what (?:(?:do|can) you (?:still )?{_KNOW}|have you {_KEPT}) {_SUBJECT}",
        rf"(?:tell me|show me|show|list) (?P<subject>(?:(?:{_THINGS}|what){_SAID}|{_NOTES}) .{{1,300}})",
    ),
    *_say(
        "recall",
        "about",
        0.85,
        rf"recall {_SUBJECT}",
        r"do you (?:still )?(?:know|remember|recall) (?P<subject>(?:my|our|(?:what|where|when|who|whom|which|how|if"
        r"|whether|that|the|where's)\b.*?\b(?:i|my|me|our|we|mine))\b.{0,300})",
        rf"do you (?:still )?(?:know|remember|recall) {_ABOUT} {_SUBJECT}",
    ),
    *_say(
        "recall",
        "about",
        0.6,
        r"do you (?:still )?(?:remember|recall) (?!me$|this$|that$|it$|how to\b)(?P<subject>\S.{1,300})",
    ),
)
