from datetime import timedelta
from itertools import pairwise

import pyarrow as pa
import pytest

from cepheid import samples
from cepheid.errors import OptionError

SCHEMAS = {
    "retail_theft": pa.schema(
        [
            ("ts", pa.timestamp("ms")),
            ("type", pa.string()),
            ("tag_id", pa.string()),
            ("product", pa.string()),
            ("zone", pa.string()),
        ]
    ),
    "contaminated_shipments": pa.schema(
        [
            ("ts", pa.timestamp("ms")),
            ("type", pa.string()),
            ("kind", pa.string()),
            ("site", pa.string()),
            ("from", pa.string()),
            ("to", pa.string()),
        ]
    ),
    "stock_trend": pa.schema(
        [
            ("ts", pa.timestamp("ms")),
            ("type", pa.string()),
            ("symbol", pa.string()),
            ("price", pa.float64()),
            ("volume", pa.int64()),
        ]
    ),
}
TYPES = {
    "retail_theft": {"Shelf", "Register", "Exit"},
    "contaminated_shipments": {"Alert", "Shipment"},
    "stock_trend": {"Stock"},
}

each_scenario = pytest.mark.parametrize("scenario", samples.SCENARIOS, ids=lambda known: known.name)
SEEDS = range(5)


@each_scenario
def test_a_seed_fixes_the_events(scenario):
    assert scenario.events(seed=3).equals(scenario.events(seed=3))
    assert not scenario.events(seed=3).equals(scenario.events(seed=4))


@each_scenario
@pytest.mark.parametrize("count", [0, 1, 2, 7, 59, 60, 61, 1000])
def test_there_are_as_many_events_as_asked_for(scenario, count):
    events = scenario.events(count)
    assert events.num_rows == count
    assert events.schema.equals(SCHEMAS[scenario.name])


@each_scenario
@pytest.mark.parametrize("seed", SEEDS)
def test_events_are_in_time_order_and_of_known_types(scenario, seed):
    events = scenario.events(seed=seed)
    assert all(before <= after for before, after in pairwise(events["ts"].to_pylist()))
    assert set(events["type"].to_pylist()) == TYPES[scenario.name]
    assert events["ts"].null_count == 0


@pytest.mark.parametrize("seed", SEEDS)
def test_one_item_in_every_hundred_events_is_stolen(seed):
    events = samples.scenario("retail_theft").events(900, seed).to_pylist()
    readings = {}
    for event in events:
        readings.setdefault(event["tag_id"], []).append(event["type"])
    journeys = [tuple(types) for types in readings.values()]
    assert journeys.count(("Shelf", "Exit")) == 9
    assert set(journeys) == {("Shelf",), ("Shelf", "Register", "Exit"), ("Shelf", "Exit")}
    assert events[-1]["ts"] - events[0]["ts"] < timedelta(hours=12)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_contaminated_alert_spreads_from_a_farm_to_a_shop(seed):
    events = samples.scenario("contaminated_shipments").events(600, seed).to_pylist()
    alerts = [ix for ix, event in enumerate(events) if event["kind"] == "contaminated"]
    assert len(alerts) == 3
    chains = [chain for ix in alerts for chain in shipment_chains(events, ix)]
    assert 3 * len(alerts) <= len(chains) <= 30
    for ix in alerts:
        assert any(len(chain) == 3 for chain in shipment_chains(events, ix))


def shipment_chains(events, alert_ix):
    """All chains of shipments from the alert's site that fit into three hours."""
    end = events[alert_ix]["ts"] + timedelta(hours=3)
    unfinished = [(alert_ix, events[alert_ix]["site"], ())]
    while unfinished:
        last_ix, site, chain = unfinished.pop()
        for ix in range(last_ix + 1, len(events)):
            if events[ix]["from"] == site and events[ix]["ts"] < end:
                yield (*chain, ix)
                unfinished.append((ix, events[ix]["to"], (*chain, ix)))


@pytest.mark.parametrize("seed", SEEDS)
def test_planted_trends_are_found_among_the_ticks(seed):
    events = samples.scenario("stock_trend").events(1500, seed).to_pylist()
    trends = [trend for ix in range(len(events)) for trend in trends_from(events, ix)]
    planted = [trend for trend in trends if trend[0]["volume"] >= 1150 and len(trend) > 4]
    assert len({trend[0]["ts"] for trend in planted}) == 6
    assert len(planted) <= len(trends) <= 30


def trends_from(events, first_ix):
    """The ticks of each trend that begins with this one, the plummet last."""
    first = events[first_ix]
    if first["volume"] <= 1000:
        return
    taken = [first]
    for tick in events[first_ix + 1 :]:
        if tick["ts"] - first["ts"] >= timedelta(hours=1):
            return
        if tick["symbol"] != first["symbol"]:
            continue
        if tick["volume"] < 0.8 * taken[-1]["volume"]:
            yield [*taken, tick]
        if tick["price"] > sum(each["price"] for each in taken) / len(taken):
            taken.append(tick)


def test_a_misspelt_scenario_gets_a_suggestion():
    with pytest.raises(OptionError, match=r"Did you mean 'retail_theft'\?"):
        samples.scenario("retail_thefts")


@pytest.mark.parametrize(("count", "seed"), [(-1, 0), (10, -1)])
def test_negative_counts_and_seeds_are_refused(count, seed):
    with pytest.raises(OptionError, match="not negative"):
        samples.scenario("stock_trend").events(count, seed)
