"""Small helpers for text that becomes Rust source: templates whose braces need no escaping."""

import re

_MARK = re.compile(r"@([A-Z][A-Z0-9_]*)@")


def fill(template, **values):
    """Replace each @NAME@ by values["NAME"]; an unknown name is a bug here and raises KeyError."""
    return _MARK.sub(lambda match: str(values[match.group(1)]), template)


def camel(name):
    """route-table -> RouteTable"""
    return "".join(part.capitalize() for part in re.split(r"[-_]", name))


def snake(name):
    """route-table -> route_table, the name a crate has in Rust paths"""
    return name.replace("-", "_")


def shout(name):
    """route-table -> ROUTE_TABLE"""
    return snake(name).upper()


NOUNS = (
    "account anchor archive arrow badge basin beacon binder bridge bucket cabin canal cedar channel "
    "charter cipher circuit cliff cluster column comet compass copper corner credit crystal current delta "
    "depot design device dial docket domain drawer ember engine entry envoy estate fabric factor ferry "
    "field filter flag flint folder forest forge frame frost garden gate glacier grain granite gravel grid "
    "grove harbor hatch hazel heron hinge horizon index inlet invoice island ivory journal kernel kettle "
    "ladder lagoon lantern lattice leaf ledger lever lexicon lichen linen locker lumen magnet mantle maple "
    "margin marker matrix meadow meter mineral mirror module mortar needle nexus north notice oasis octave "
    "orbit orchid outpost packet panel parcel patent pebble pepper pillar pivot planet plaza pocket policy "
    "portal prism profile quarry quartz queue quota radar ranger ratio record reed region relay ridge river "
    "rocket roster rudder saddle sample sandal satin scale schema sector sensor shelf signal silver slate "
    "socket sphere spindle spring stable station stream summit switch symbol tablet tally temple tender "
    "ticket timber token topaz tower tracer tunnel turbine valley vector velvet vendor venue vessel violet "
    "voucher wagon walnut warden willow window winter zenith"
).split()


def distinct_nouns(rng, count):
    """count different nouns; past the end of the list they get a number."""
    pool = list(NOUNS)
    rng.shuffle(pool)
    return [pool[i % len(pool)] + ("" if i < len(pool) else str(i // len(pool))) for i in range(count)]
