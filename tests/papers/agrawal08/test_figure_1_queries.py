"""[Agrawal08 Figure 1 and §2]: the three introductory queries, as printed."""

import pytest
from streams import answers, matches, rows

QUERY_1 = """
PATTERN SEQ(Shelf a, ∼(Register b), Exit c)
WHERE skip_till_next_match(a, b, c) {
        a.tag_id = b.tag_id
    and a.tag_id = c.tag_id
    /* equivalently, [tag_id] */ }
WITHIN 12 hours
"""

QUERY_2 = """
PATTERN SEQ(Alert a, Shipment+ b[ ])
WHERE skip_till_any_match(a, b[ ]) {
        a.type = 'contaminated'
    and b[1].from = a.site
    and b[i].from = b[i-1].to }
WITHIN 3 hours
"""

HOUR = 60


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ("shelf(tag_id=1) exit(tag_id=1)", "shelf exit"),
        ("shelf(tag_id=1) register(tag_id=1) exit(tag_id=1)", ""),
        ("shelf(tag_id=1) register(tag_id=2) exit(tag_id=1)", "shelf exit"),
        ("shelf(tag_id=1) exit(tag_id=2)", ""),
        # Readings between the first shelf reading and the exit are ignored [§2].
        ("shelf1(tag_id=1) shelf2(tag_id=1) exit(tag_id=1)", "shelf1 exit | shelf2 exit"),
        ("shelf(tag_id=1) exit1(tag_id=1) exit2(tag_id=1)", "shelf exit1"),
        ("shelf(tag_id=1)@0 exit(tag_id=1)@719", "shelf exit"),
        ("shelf(tag_id=1)@0 exit(tag_id=1)@720", ""),
    ],
)
def test_query_1_finds_items_that_leave_without_being_checked_out(
    events: str, expected: str
) -> None:
    assert matches(QUERY_1, events, window=12 * HOUR) == answers(expected)
    short = QUERY_1.replace("a.tag_id = b.tag_id\n    and a.tag_id = c.tag_id", "[tag_id]")
    assert "[tag_id]\n" in short
    assert matches(short, events, window=12 * HOUR) == answers(expected)


SHIPMENTS = """
    alert(type='contaminated',site='X')
    shipment1(from='X',to='Y') shipment2(from='X',to='Z')
    shipment3(from='Y',to='V') shipment4(from='W',to='Z') shipment5(from='Z',to='U')
"""


def test_query_2_follows_every_series_of_shipments() -> None:
    # A shipment from X to Y both extends a series and is ignored, so that the one from X to Z
    # starts another series [§2, skip till any match].
    expected = """
        alert [shipment1] | alert [shipment2] | alert [shipment1 shipment3]
        | alert [shipment2 shipment5]
    """
    assert matches(QUERY_2, SHIPMENTS, window=3 * HOUR) == answers(expected)


def test_query_2_under_skip_till_next_match_follows_one_series() -> None:
    query = QUERY_2.replace("skip_till_any_match", "skip_till_next_match")
    expected = answers("alert [shipment1] | alert [shipment1 shipment3]")
    assert matches(query, SHIPMENTS, window=3 * HOUR) == expected


def test_query_2_needs_a_contaminated_site() -> None:
    events = SHIPMENTS.replace("contaminated", "late")
    assert matches(QUERY_2, events, window=3 * HOUR) == set()


def test_query_2_of_the_slides_returns_where_shipments_went() -> None:
    query = "FROM InputStream " + QUERY_2 + "RETURN a.type, a.site, b[].to"
    found = rows(query, SHIPMENTS, window=3 * HOUR)
    assert sorted(row[2] for row in found) == [["Y"], ["Y", "V"], ["Z"], ["Z", "U"]]
    assert all(row[:2] == ["contaminated", "X"] for row in found)
