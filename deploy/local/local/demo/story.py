"""The contents of the filled demo account: the posts of a bakery and a market, and the comments of visitors."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """A post of the demo account that is published in the past. `days`: how many days ago. `hour`: the hour of that
    day, in UTC. `brand`: 1 or 2, the brand to whose page it is sent.
    """

    days: int
    hour: int
    brand: int
    platform: str
    text: str
    with_photo: bool = False
    #: (visitor, comment, the page's answer or none)
    comments: tuple[tuple[str, str, str], ...] = ()
    likes: int = 0
    with_video: bool = False


PAST = (
    Told(20, 7, 1, "FB", "New on the shelf: the Harbour loaf, half rye and half spelt.", True,
         (("Ines Marten", "Does it keep for the weekend?", "Four days in a linen bag, easily."),), 41),
    Told(19, 16, 2, "FB", "The Night Market opens for the season. Forty stalls, one tram stop.", True, (), 88),
    Told(18, 6, 1, "IG", "Four in the morning, and the oven is the only light in the street.", True,
         (("ole.draws", "This light! May I paint it?", "Please do, and show us."),), 154),
    Told(17, 11, 1, "LN", "We take on two apprentices in August. Early mornings, good coffee, a trade for life."),
    Told(16, 15, 1, "YT", "How a sourdough wakes up: a night in ten seconds.", with_video=True, comments=(
        ("Bread nerd", "What flour do you feed it?", "Rye, always rye."),)),
    Told(15, 9, 1, "TW", "Cinnamon buns: out of the oven at nine, gone by ten. You have been warned."),
    Told(14, 17, 2, "FB", "Tonight: the brass band from across the river, and mulled pear juice.", False,
         (("Tariq", "Is there parking?", ""), ("Greta H.", "Dogs allowed?", "On a lead, yes.")), 63),
    Told(13, 7, 1, "FB", "Closed on Monday for the new floor. On Tuesday there is cake for everybody who was patient."),
    Told(12, 15, 1, "TT", "The apprentices race: forty rolls, one minute.", with_video=True),
    Told(11, 6, 1, "IG", "Crumb shot of the week.", True, (("kneadtoknow", "What hydration is that?", ""),), 201),
    Told(10, 10, 1, "LN", "How we cut our flour waste by a third: three scales, one list, no software."),
    Told(8, 8, 1, "FB", "Saint Martin's geese are here. Each one looks a little different, like real geese.", True,
         (("Mum of three", "Can one order a dozen?", "Call us before noon and they are yours."),), 72),
    Told(7, 15, 2, "FB", "Lost and found at the Night Market: one red glove, one umbrella, one tuba.", False,
         (("Joost", "The tuba is mine. Long story.", ""),), 119),
    Told(6, 9, 1, "TW", "We are asked for the recipe of the seed roll every week. The secret is that there is none."),
    Told(5, 6, 1, "IG", "Before and after: the apprentices' first braided loaf.", True, (), 97),
    Told(3, 7, 1, "FB", "Advent calendars for grown-ups: 24 paper bags, 24 small pastries.", True,
         (("Paula W.", "Is there one without nuts?", ""), ("Sven", "Reserved mine!", "")), 58),
    Told(2, 16, 2, "FB", "Saturday: children cook on stalls 12 to 15. Bring an apron.", False, (), 34),
    Told(1, 6, 1, "IG", "Snow on the sign, warmth behind the door.", True,
         (("harbour.pilot", "Best view from the ferry.", ""),), 133),
)  # fmt: skip

#: Instead of a fault of the simulator: the page's connection has ended.
EXPIRED = "expired"
#: Posts that fail, each for a reason of its own: platform, the simulator's fault, text.
FAILED = (
    ("TW", "reject", "Today only: two loaves for one, until the shelf is empty."),
    ("YT", EXPIRED, "A croissant has 27 layers. We filmed each of them."),
)
#: A post that is held, because the token that made it was revoked: days ahead, platform, text.
HELD = (2, "LN", "Our new website takes orders. (Written by the old one.)")

#: Posts of the next two weeks: days ahead, hour, brand, platform, text, with a photo. The last one is cancelled.
NEXT = (
    (0, 20, 1, "FB", "Tomorrow from seven: gingerbread, and the broken ones for half the price.", True),
    (1, 7, 1, "IG", "Good morning! Today we bake rye with caraway.", True),
    (1, 16, 2, "FB", "Choir night at the market. The hot chocolate is on the mayor.", False),
    (2, 9, 1, "TW", "We look for somebody who likes bread and early mornings.", False),
    (3, 10, 1, "LN", "Why we publish the price of our flour.", False),
    (4, 7, 1, "FB", "Second Advent: stollen, sliced while you watch.", True),
    (5, 16, 2, "FB", "The market's last weekend before the holidays.", True),
    (6, 8, 1, "IG", "Our oven turns a hundred. It still runs hot on the left.", True),
    (8, 9, 1, "FB", "Orders for Christmas are open. Until the 20th, then the oven is full.", False),
    (10, 12, 1, "LN", "A year in numbers: 61,000 rolls, 9 bakers, 0 alarms slept through.", False),
    (12, 7, 1, "IG", "Twelve kinds of cookies. We counted by eating.", True),
    (13, 16, 2, "FB", "Thank you, and see you in spring.", False),
)
