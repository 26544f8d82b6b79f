"""Words that decide what a capital means."""

from __future__ import annotations

# What people call out, which no list of English words has.
_INTERJECTIONS = """
ah aha ahh alright anyway aw aww awww bro btw bummer bye cheers congrats congratulations cool damn dude duh eh fyi gee
gimme gonna gosh gotcha goodbye gotta guys ha haha heck hehe hello hey hi hmm hooray i'd i'll i'm i've imo jk kinda
kudos lemme lol looky lots mmm nah nice nope oh okay omg oops ouch phew pics pls plz ps sec sorta thanks tho thx til
tldr todo ugh uh umm wanna welcome whoa woah woohoo woo wow ya yay yea yeah yep yes yikes yo yum yup
"""
# What stands before a colon without being a speaker.
_HEADINGS = """
answer assistant author body date dear description email example examples from human id ingredients instruction
instructions link model name note notes output prompt question questions re recipe result results role sender source
spoiler status steps subject summary system tags task text time title to tool topic type update updates url user version
warning
"""
_DAYS = """
january february march april may june july august september october november december monday tuesday wednesday thursday
friday saturday sunday mon tue tues wed weds thu thurs fri sat sun jan feb mar apr jun jul aug sep sept oct nov dec
christmas easter halloween thanksgiving
"""
# First names that dictionaries list as words, and that seldom are one where they begin a sentence.
_FIRST_NAMES = """
aaron ada adam albert alexander andrew anna anthony arthur austin benjamin billy bob bobby bruce bryan carol caroline
catherine charles charlotte christopher cynthia daniel david diana donna douglas dylan edward elijah elizabeth eugene
eve gabriel gary george gregory harry heather helen henry isabella jack jacob james jason jean jerry jimmy john jonathan
jordan joseph josh joshua joyce judith karen kelly ken lawrence logan louis madison maria martin mary matthew max
melissa michael mike nancy nicholas nick noah parker patrick paul peter philip rachel randy rebecca rick rob robert
robin russell ruth samuel sarah scott stephen taylor ted teresa terry theresa thomas timothy tom tyler victor victoria
virginia walter wayne
"""

# What a text is never about.
_GENERIC = """
bit bring bunch bye day days deal evening everyone everything fun great guess hour hours job kind look looks lot love
luck minute minutes moment moments month months morning night one ones people person place plan reason sense someone
something sort sounds stuff team thing things thought today tomorrow tonight way ways week weekend weeks word words work
world year years yesterday
"""

# What stands before a name, and is none alone: where a stop after it ends a sentence, it is left by itself.
TITLES = frozenset({"mr", "mrs", "ms", "mx", "dr", "prof", "capt", "col", "gen", "lt", "maj", "sgt", "st"})
GENERIC = frozenset(_GENERIC.split())
NO_NAMES = frozenset(f"{_INTERJECTIONS} {_HEADINGS} {_DAYS} english god internet".split())
FIRST_NAMES = frozenset(_FIRST_NAMES.split())
# What a name was called out with or stands beside, where it begins a sentence.
LEADING = frozenset(f"{_INTERJECTIONS} {_DAYS} glad last next learning poor lovely".split())
GREETINGS = r"hey|hi|hello|dear|thanks|thank you|thx|wow|yeah|yes|yep|bye|congrats|sorry|morning|good (?:morning|night)"
KIN = (
    r"sister|brother|mother|father|mom|mum|dad|wife|husband|partner|girlfriend|boyfriend|son|daughter|cousin|aunt|uncle"
    r"|grandma|grandpa|niece|nephew|friend|colleague|coworker|boss|manager|neighbou?r|teacher|doctor|coach|named|called"
)
DONE_TO = r"with|told|tell|tells|asked|ask|met|meet|call|thank|invited|invite|married|hired|visited|visit"
DOING = (
    r"said|says|told|tells|asked|asks|thinks|thought|wants|wanted|likes|liked|loves|loved|hates|hated|prefers|preferred"
    r"|went|goes|came|comes|called|calls|works|worked|lives|lived|moved|moves|knows|knew|feels|felt|wrote|writes|plays"
    r"|played|studies|studied|bought|buys|makes|made|gave|gives|met|meets|has|had|is|was|will|can|could|would|should"
    r"|insists|insisted|chooses|chose|doesn't|didn't|isn't|wasn't|won't|can't|started|finished|joined|left|got|keeps|kept|needs|needed|plans|planned"
)
