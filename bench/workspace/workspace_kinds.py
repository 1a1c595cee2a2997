"""What a library crate of each kind contains. A kind is a function (rng, size, context) -> Rust text of kind.rs."""

import os

from workspace_text import NOUNS, camel, distinct_nouns, fill, shout, snake

HERE = os.path.dirname(os.path.abspath(__file__))


def template(name):
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return file.read()


def _lines(rows, indent=4):
    return "\n".join(" " * indent + row for row in rows)


def _odd(rng):
    return rng.randrange(3, 1 << 20) * 2 + 1


# --- fields of generated structs -------------------------------------------------------------------------------

_PLAIN_FIELDS = (
    ("u8", "seed as u8"),
    ("u16", "(seed >> 3) as u16"),
    ("u32", "(seed >> 5) as u32"),
    ("u64", "seed.rotate_left(11)"),
    ("i64", "seed as i64 >> 4"),
    ("f64", "(seed % 1_000_000) as f64 / 8.0"),
    ("bool", "seed % 3 == 0"),
    ("char", "(b'a' + (seed % 26) as u8) as char"),
    ("String", 'format!("name-{}", seed % 977)'),
    ("Vec<u32>", "(0..seed % 5).map(|at| at as u32 * 3).collect()"),
    ("Vec<String>", '(0..seed % 3).map(|at| format!("part-{}", at)).collect()'),
    ("Option<u64>", "Some(seed).filter(|value| value % 2 == 0)"),
    ("Option<String>", 'if seed % 4 == 0 { None } else { Some(seed.to_string()) }'),
    ("(u16, String)", "(seed as u16, String::from(\"pair\"))"),
    ("[u32; 4]", "[seed as u32, 1, 2, (seed >> 32) as u32]"),
    ("BTreeMap<String, u64>", '(0..seed % 3).map(|at| (format!("key-{}", at), seed ^ at)).collect()'),
    ("Vec<(u32, Option<bool>)>", "(0..seed % 4).map(|at| (at as u32, Some(at % 2 == 0))).collect()"),
    ("Result<u32, String>", 'if seed % 5 == 0 { Err(String::from("missing")) } else { Ok(seed as u32) }'),
)
# Result has no Default, which every record here derives.
_STRUCT_FIELDS = tuple(row for row in _PLAIN_FIELDS if not row[0].startswith("Result"))


def derives(context, is_enum=False, is_generic=False):
    found = ["encode_derive::Encode", "encode_derive::Decode"]
    if "visit-derive" in context.macros:
        found.append("visit_derive::Visit")
    if "names-derive" in context.macros and is_enum:
        found.append("names_derive::Names")
    if "builder-derive" in context.macros and not is_enum and not is_generic:
        found.append("builder_derive::Builder")
    return ", ".join(found)


def struct_text(rng, context, name, previous):
    fields = []
    for noun in distinct_nouns(rng, rng.randint(4, 9)):
        fields.append((noun,) + rng.choice(_STRUCT_FIELDS))
    if previous:
        fields.append(("parent", previous, "%s::sample(next(seed))" % previous))
    out = ["#[derive(Debug, Clone, PartialEq, Default, %s)]" % derives(context), "pub struct %s {" % name]
    for at, (field, kind, _) in enumerate(fields):
        if at == 1 and "visit-derive" in context.macros:
            out.append('    #[visit(rename = "%s-of-%s")]' % (field, snake(name).lower()))
        out.append("    pub %s: %s," % (field, kind))
    out += ["}", "", "impl %s {" % name, "    pub fn sample(seed: u64) -> Self {", "        %s {" % name]
    out += ["            %s: %s," % (field, value) for field, _, value in fields]
    out += ["        }", "    }", "", "    pub fn check(&self) -> Result<usize, String> {"]
    for field, kind, _ in fields:
        if kind == "String":
            out.append('        if self.%s.is_empty() { return Err(String::from("%s is empty")); }' % (field, field))
        elif kind.startswith("Option<u64>"):
            out.append('        if let Some(value) = self.%s { if value == 7 { return Err(format!("%s is {}", value)); } }' % (field, field))
        elif kind == "f64":
            out.append('        if self.%s < 0.0 { return Err(format!("%s is {}", self.%s)); }' % (field, field, field))
        elif kind == previous:
            out.append("        self.%s.check()?;" % field)
    out += ["        Ok(%d)" % len(fields), "    }", "}", ""]
    return "\n".join(out)


def enum_text(rng, context, name, previous):
    variants = distinct_nouns(rng, rng.randint(4, 8))
    out = ["#[derive(Debug, Clone, PartialEq, Default, %s)]" % derives(context, is_enum=True), "pub enum %s {" % name]
    makes = []
    for at, noun in enumerate(variants):
        variant = camel(noun)
        shape = 0 if at == 0 else rng.randrange(3)
        if at == len(variants) - 1 and previous:
            out.append("    %s(Box<%s>, u32)," % (variant, previous))
            makes.append("%s::%s(Box::new(%s::sample(next(seed))), seed as u32)" % (name, variant, previous))
        elif shape == 0:
            out.append(("    #[default]\n" if at == 0 else "") + "    %s," % variant)
            makes.append("%s::%s" % (name, variant))
        elif shape == 1:
            parts = [rng.choice(_PLAIN_FIELDS) for _ in range(rng.randint(1, 3))]
            out.append("    %s(%s)," % (variant, ", ".join(kind for kind, _ in parts)))
            makes.append("%s::%s(%s)" % (name, variant, ", ".join(value for _, value in parts)))
        else:
            parts = [(noun,) + rng.choice(_PLAIN_FIELDS) for noun in distinct_nouns(rng, rng.randint(1, 3))]
            out.append("    %s { %s }," % (variant, ", ".join("%s: %s" % part[:2] for part in parts)))
            makes.append("%s::%s { %s }" % (name, variant, ", ".join("%s: %s" % (part[0], part[2]) for part in parts)))
    out += ["}", "", "impl %s {" % name, "    pub fn sample(seed: u64) -> Self {", "        match seed %% %d {" % len(makes)]
    out += ["            %s => %s," % (at if at < len(makes) - 1 else "_", make) for at, make in enumerate(makes)]
    out += ["        }", "    }", "", "    pub fn check(&self) -> Result<usize, String> {"]
    out += ["        Ok(format!(\"{:?}\", self).len())", "    }", "}", ""]
    return "\n".join(out)


def types_text(rng, context, names):
    out = []
    previous = None
    for at, name in enumerate(names):
        make = enum_text if at % 3 == 2 else struct_text
        out.append(make(rng, context, name, previous))
        # Chains of four: a record holds one of the type before it, so their size grows with the chain only.
        previous = name if at % 4 != 3 else None
    return "\n".join(out)


# --- kinds -----------------------------------------------------------------------------------------------------

def model(rng, size, context):
    names = [camel(noun) for noun in distinct_nouns(rng, 8 * size)]
    text = fill(template("kind_model.rs.in"), TYPES=types_text(rng, context, names), WIRE_DERIVES=derives(context, is_generic=True))
    rows = ["    total = total.rotate_left(3) ^ round_trip(%s::sample(next(total)), %s::check);" % (name, name) for name in names]
    return text + "\n".join([
        "",
        "fn round_trip<T: Item>(value: T, check: impl Fn(&T) -> Result<usize, String>) -> u64 {",
        "    let bytes = to_bytes(&value);",
        "    let back: T = from_bytes(&bytes).expect(\"what was written is read\");",
        "    assert_eq!(back, value);",
        "    digest_of(&bytes) ^ check(&back).unwrap_or(3) as u64",
        "}",
        "",
        "/// Every type of this crate, written and read.",
        "pub fn round_trips(seed: u64) -> u64 {",
        "    let mut total = seed;",
    ] + rows + ["    total", "}", ""])


_STRUCTURES = ("ring", "map", "heap", "slab", "graph", "trie")


def store(rng, size, context):
    del context
    structures, drivers = [], []
    for noun in distinct_nouns(rng, 2 * size):
        for structure in _STRUCTURES:
            structures.append(fill(template("kind_store_%s.rs.in" % structure), N=camel(noun), L=noun, C=rng.randint(17, 40), D=rng.randint(2, 4)))
            drivers.append("total = total.rotate_left(5) ^ drive_%s_%s(total, &mut make);" % (noun, structure))
    return fill(template("kind_store.rs.in"), STRUCTURES="\n".join(structures), DRIVERS=_lines(drivers))


def flow(rng, size, context):
    del context
    functions, drivers = [], []
    for noun in distinct_nouns(rng, 3 * size):
        values = dict(L=noun, M=rng.randint(5, 13), A=rng.randint(2, 19), B=rng.randint(2, 9), S=_odd(rng), K=_odd(rng), P=rng.choice([":", "/", "=", "->"]))
        for part in ("chain", "closures", "task", "parser"):
            functions.append(fill(template("kind_flow_%s.rs.in" % part), **values))
        drivers += [
            "total ^= chain_%s(&items);" % noun,
            "total = total.wrapping_add(closures_%s(&items));" % noun,
            "total ^= run(task_%s(items.clone())).unwrap_or(1);" % noun,
            'total ^= parser_%s("[+12%s5-7*3][-9]+").unwrap_or(2);' % (noun, values["P"]),
        ]
    return fill(template("kind_flow.rs.in"), FUNCTIONS="\n".join(functions), DRIVERS=_lines(drivers))


def _grade_rules(rng, count):
    out = []
    for at in range(count):
        # A rule needs what the rules it calls need, and so on down to the first.
        bound = " + ".join(["Debug"] + ["Grade%d" % earlier for earlier in range(at)])
        inner = "".join(" ^ self.grade%d()" % earlier for earlier in range(max(0, at - 2), at))
        out.append("pub trait Grade%d {\n    fn grade%d(&self) -> u64;\n}\n" % (at, at))
        for kind in ("u8", "u32", "i64", "bool", "String", "&'static str"):
            out.append("impl Grade%d for %s {\n    fn grade%d(&self) -> u64 {\n        %d + format!(\"{:?}\", self).len() as u64%s\n    }\n}\n" % (at, kind, at, rng.randrange(99), inner))
        for kind, each in (("Vec<T>", "self.iter()"), ("Option<T>", "self.iter()"), ("[T; 2]", "self.iter()"), ("Box<T>", "std::iter::once(&**self)")):
            out.append("impl<T: Grade%d + %s> Grade%d for %s {\n    fn grade%d(&self) -> u64 {\n        %s.map(|value| value.grade%d()).fold(%d, u64::wrapping_add)%s\n    }\n}\n" % (at, bound, at, kind, at, each, at, rng.randrange(999), inner))
        out.append("impl<A: Grade%d + %s, B: Grade%d + %s> Grade%d for (A, B) {\n    fn grade%d(&self) -> u64 {\n        self.0.grade%d().rotate_left(%d) ^ self.1.grade%d()%s\n    }\n}\n" % (at, bound, at, bound, at, at, at, rng.randint(1, 30), at, inner))
    return "\n".join(out)


def logic(rng, size, context):
    del context
    nouns = distinct_nouns(rng, 4 * size)
    layers = [fill(template("kind_logic_layer.rs.in"), N=camel(noun), S=rng.randrange(90), M=rng.randint(23, 99), R=rng.randrange(23), A=rng.randint(1, 40)) for noun in nouns]
    stacks, drivers = [], []
    for at in range(2 * size):
        chosen = [camel(rng.choice(nouns)) for _ in range(rng.randint(7, 10))]
        chain = "".join("\n        .with(%sLayer)" % name for name in chosen)
        stacks.append(
            "pub fn stack%d<T: Item>(seed: u64, make: &mut impl FnMut(u64) -> T) -> u64 {\n"
            "    let mut service = Plan::new()%s\n"
            "        .service(Plain(|(mark, item): (u64, T)| mark ^ digest_of(&item)));\n"
            "    (0..20u64).map(|step| service.call((next(seed ^ step), make(step))).unwrap_or(%d)).fold(1, u64::wrapping_mul)\n}\n"
            % (at, chain, rng.randrange(999)))
        drivers.append("total = total.rotate_left(9) ^ stack%d(total, &mut make);" % at)
    count = 3 * size
    for at in range(3 * size):
        left, right = rng.randint(2, 5), rng.randint(2, 5)
        stacks.append("pub const PRODUCT%d: u64 = <<N%d as Mul<<N%d as Add<N%d>>::Sum>>::Product as Nat>::VALUE;" % (at, left, right, rng.randint(1, 5)))
        grade = rng.randrange(count)
        stacks.append(
            "pub fn graded%d(seed: u64) -> u64 {\n"
            "    let value: Vec<Option<(u32, [Vec<(String, Box<Option<u8>>)>; 2])>> = vec![None, Some((seed as u32, [Vec::new(), vec![(seed.to_string(), Box::new(Some(%d)))]]))];\n"
            "    let pair = (value, (vec![\"text\"; %d], [(true, -5i64), (false, seed as i64)]));\n"
            "    pair.grade%d()\n}\n" % (at, rng.randrange(200), rng.randint(1, 9), grade))
        drivers.append("total = total.wrapping_add(graded%d(total)).wrapping_mul(PRODUCT%d | 1);" % (at, at))
    return fill(template("kind_logic.rs.in"), LAYERS="\n".join(layers), RULES=_grade_rules(rng, count), STACKS="\n".join(stacks), DRIVERS=_lines(drivers))


def tables(rng, size, context):
    del context
    out, drivers = [], []
    for at in range(6 * size):
        polynomial = rng.randrange(1 << 31, 1 << 32)
        out.append("pub static CRC%d: [u32; 256] = crc_table(0x%08x);" % (at, polynomial))
        drivers.append("total = total.rotate_left(7) ^ u64::from(bytes.iter().fold(!0u32, |crc, byte| (crc >> 8) ^ CRC%d[((crc ^ u32::from(*byte)) & 255) as usize]));" % at)
        limit = rng.randint(1500, 3000)
        out.append("pub static PRIMES%d: [bool; %d] = primes::<%d>();" % (at, limit, limit))
        drivers.append("total ^= u64::from(PRIMES%d[at %% %d]) << (at %% 60);" % (at, limit))
        steps = rng.randint(200, 700)
        out.append("pub static SINES%d: [i64; %d] = sines::<%d>();" % (at, steps, steps))
        drivers.append("total = total.wrapping_add(SINES%d[at %% %d] as u64);" % (at, steps))
        words = distinct_nouns(rng, 14)
        out.append("const WORDS%d: [&str; 14] = [%s];" % (at, ", ".join('"%s"' % word for word in words)))
        out.append("pub const SEED%d: u64 = perfect_seed::<14, 64>(&WORDS%d);" % (at, at))
        out.append("pub static SLOTS%d: [u8; 64] = slots::<14, 64>(&WORDS%d, SEED%d);" % (at, at, at))
        drivers.append("total ^= u64::from(SLOTS%d[(hash_text(WORDS%d[at %% 14], SEED%d) %% 64) as usize]);" % (at, at, at))
        values = [rng.randrange(10000) for _ in range(48)]
        out.append("pub static SORTED%d: [u32; 48] = sorted([%s]);" % (at, ", ".join(map(str, values))))
        out.append("const _: () = assert!(SEED%d > 0 && hash_text(\"%s\", %d) != 0);" % (at, words[0], at))
        drivers.append("total = total.wrapping_add(SORTED%d.binary_search(&(at as u32 %% 10000)).unwrap_or_else(|place| place) as u64);" % at)
    return fill(template("kind_tables.rs.in"), TABLES="\n".join(out), DRIVERS=_lines(drivers, 8))


def _value_text(rng, depth):
    if depth == 0:
        return rng.choice(["null", "true", "%di64" % rng.randrange(9999), '"%s"' % rng.choice(NOUNS)])
    inner = [_value_text(rng, rng.randrange(depth)) for _ in range(rng.randint(3, 8))]
    if rng.random() < 0.4:
        return "[%s]" % ", ".join(inner)
    keys = distinct_nouns(rng, len(inner))
    return "{%s}" % ", ".join('"%s": %s' % pair for pair in zip(keys, inner))


def _rpn_text(rng):
    out, depth = [], 0
    for _ in range(rng.randint(18, 30)):
        if depth >= 2 and rng.random() < 0.55:
            out.append(rng.choice("+-*"))
            depth -= 1
        else:
            out.append(str(rng.randrange(1, 99)))
            depth += 1
    out += [rng.choice("+*") for _ in range(depth - 1)]
    return " ".join(out)


def grammar(rng, size, context):
    del context
    out, drivers = [], []
    for noun in distinct_nouns(rng, 4 * size):
        name = camel(noun)
        bits = distinct_nouns(rng, rng.randint(12, 30))
        out.append("flags! {\n    pub %sFlags: u32 {\n%s\n    }\n}\n" % (name, _lines(("%s = %d;" % (shout(bit), at) for at, bit in enumerate(bits)), 8)))
        states = [camel(state) for state in distinct_nouns(rng, rng.randint(8, 16))]
        rows = []
        for state in states:
            steps = ("%s => %s" % (event, rng.choice(states)) for event in distinct_nouns(rng, rng.randint(2, 6)))
            rows.append("%s { %s }" % (state, ", ".join(steps)))
        out.append("machine! {\n    %sState {\n%s\n    }\n}\n" % (name, _lines(rows, 8)))
        fields = ((field,) + rng.choice((("u32", "3"), ("String", "String::new()"), ("Vec<u8>", "vec![1, 2]"), ("Option<i64>", "None"))) for field in distinct_nouns(rng, rng.randint(4, 10)))
        out.append("record! {\n    %sRecord<T> {\n%s\n    }\n}\n" % (name, _lines(("%s: %s = %s," % field for field in fields), 8)))
        out.append("pub const %s_SUM: i64 = rpn!(%s);\n" % (shout(noun), _rpn_text(rng)))
        out.append("pub fn %s_value() -> Value {\n    value!(%s)\n}\n" % (noun, _value_text(rng, 4)))
        out.append(
            "pub fn %s_walk<T: Item>(seed: u64, item: T) -> u64 {\n"
            "    let mut state = %sState::ALL[(seed %% %sState::ALL.len() as u64) as usize];\n"
            "    let mut total = shown(&%sFlags::from_bits(seed as u32 & ((1 << %sFlags::COUNT) - 1)));\n"
            "    for round in 0..8 {\n"
            "        let event = state.events()[round %% state.events().len()];\n"
            "        state = state.step(event).unwrap_or(state);\n"
            "        total = total.wrapping_mul(5) ^ shown(&state);\n"
            "    }\n"
            "    let record = %sRecord::new(item);\n"
            "    let other = record.clone().map(|inner| (inner, seed));\n"
            "    let same = record.differences(&record.clone());\n"
            "    total ^ shown(&other) ^ shown(&same) ^ %s_SUM as u64 ^ digest_of(&%s_value().to_string())\n}\n"
            % (noun, name, name, name, name, name, shout(noun), noun))
        drivers.append("total = total.rotate_left(3) ^ %s_walk(total, make(total));" % noun)
    return fill(template("kind_grammar.rs.in"), USES="\n".join(out), DRIVERS=_lines(drivers))


def events(rng, size, context):
    del context
    states = [camel(noun) for noun in distinct_nouns(rng, 8 + 6 * size)]
    names = [camel(noun) for noun in distinct_nouns(rng, 10 + 12 * size)]
    shapes = {name: (0 if at == 0 else at % 4) for at, name in enumerate(names)}
    declared = {0: "%s,", 1: "%s(T),", 2: "%s { level: u32, from: Option<State> },", 3: "%s(Vec<T>, u8),"}
    pattern = {0: "Event::%s", 1: "Event::%s(..)", 2: "Event::%s { .. }", 3: "Event::%s(..)"}
    made = {0: "Event::%s", 1: "Event::%s(make(seed))", 2: "Event::%s { level: (seed >> 9) as u32 %% 100, from: Some(State::ALL[seed as usize %% %d]) }",
            3: "Event::%s((0..seed %% 3).map(&mut *make).collect(), seed as u8)"}
    costs = {0: "Event::%s => %d,", 1: "Event::%s(value) => digest_of(value) %% 91 + %d,",
             2: "Event::%s { level, from: Some(state) } => u64::from(level + state.rank() + %d),\n            Event::%s { level, from: None } => u64::from(*level),",
             3: "Event::%s(list, level) => list.len() as u64 + u64::from(*level) + %d,"}
    steps = []
    for state in states:
        used = sorted(rng.sample(names[1:], min(len(names) - 1, 5 + 3 * size)))
        for name in used:
            target = "State::" + rng.choice(states)
            here, shape = "State::" + state, shapes[name]
            if shape == 0:
                steps.append("(%s, Event::%s) => (%s, Effect::Nothing)," % (here, name, target))
            elif shape == 1:
                steps.append("(%s, Event::%s(value)) if digest_of(&value) %% %d == 1 => (%s, Effect::Keep(value))," % (here, name, rng.randint(2, 5), target))
                steps.append("(%s, Event::%s(value)) => (%s, Effect::Send { to: %s, payload: Some(value), delay: %d })," % (here, name, here, target, rng.randrange(99)))
            elif shape == 2:
                low, high = sorted(rng.sample(range(100), 2))
                steps.append("(%s, Event::%s { level: %d..=%d, .. }) => (%s, Effect::Nothing)," % (here, name, low, high, target))
                steps.append("(%s, Event::%s { level, from: Some(from @ (State::%s | State::%s)) }) => (from, Effect::Send { to: %s, payload: None, delay: level })," % ((here, name) + tuple(rng.sample(states, 2)) + (target,)))
            else:
                steps.append("(%s, Event::%s(list, %d..=%d)) => (%s, Effect::Batch(list.into_iter().map(Effect::Keep).collect()))," % (here, name, 0, rng.randint(50, 200), target))
    classes, seen = [], set()
    for at in range(20 * size):
        word = rng.choice(NOUNS)
        low = rng.randrange(4000)
        key = (word[:2], low)
        if key in seen:
            continue
        seen.add(key)
        classes.append("(%d..=%d, %s, [b'%s', b'%s', ..]) => \"%s-%d\"," % (low, low + rng.randrange(300), rng.choice(["_", "0..=3", "2 | 5", "4.."]), word[0], word[1], word, at))
    cost_rows = []
    for name in names:
        shape = shapes[name]
        cost_rows.append(costs[shape] % ((name, rng.randrange(50)) if shape != 2 else (name, rng.randrange(50), name)))
    makes = []
    for at, name in enumerate(names):
        shape = shapes[name]
        makes.append("%d => %s," % (at, made[shape] % ((name, len(states)) if shape == 2 else (name,))))
    return fill(
        template("kind_events.rs.in"),
        STATES=_lines(state + "," for state in states),
        STATE_COUNT=len(states),
        STATE_LIST=", ".join("State::" + state for state in states),
        RANKS=_lines(("State::%s => %d," % (state, rng.randrange(1, 500)) for state in states), 12),
        EVENTS=_lines(declared[shapes[name]] % name for name in names),
        EVENT_COUNT=len(names),
        FIRST_EVENT=names[0],
        KINDS=_lines((pattern[shapes[name]] % name + ' => "%s",' % name for name in names), 12),
        MAKES=_lines(makes, 12),
        COSTS=_lines(cost_rows, 12),
        STEPS=_lines(steps, 8),
        CLASSES=_lines(classes, 8))


def text(rng, size, context):
    words = distinct_nouns(rng, 130 * size)
    out = ["pub static WORDS: [&str; %d] = [" % len(words), _lines('"%s",' % word for word in words), "];"]
    messages = [" ".join(rng.choice(NOUNS) for _ in range(rng.randint(3, 12))) for _ in range(120 * size)]
    out += ["pub static MESSAGES: [(u16, &str); %d] = [" % len(messages), _lines('(%d, "%s"),' % pair for pair in enumerate(messages)), "];"]
    if "table-macro" in context.macros:
        out += ["table_macro::table! {", "    LOOKUP: {", _lines(('"%s" => %d,' % (word, rng.randrange(10 ** 6)) for word in words), 8), "    }", "}"]
    else:
        out += ["pub fn lookup(key: &str) -> Option<u64> {", "    match key {", _lines(('"%s" => Some(%d),' % (word, rng.randrange(10 ** 6)) for word in words), 8), "        _ => None,", "    }", "}"]
    out += ["pub fn constant(name: &str) -> u64 {", "    lookup(name).unwrap_or(MESSAGES[name.len() % MESSAGES.len()].1.len() as u64)", "}"]
    return fill(template("kind_text.rs.in"), TABLES="\n".join(out))


def native(rng, size, context):
    del rng, size
    return fill(template("kind_native.rs.in"), C_NAME=snake(context.name))


def native_files(rng, size, name):
    """build.rs and the C sources of a native crate: path -> text"""
    c_name = snake(name)
    count = 12 * size
    rounds = ["static uint64_t round%d(uint64_t sum, uint8_t byte)\n{\n    return turn(sum * UINT64_C(%d) + byte, %d) ^ (sum >> %d);\n}\n" % (at, _odd(rng), rng.randint(1, 60), rng.randint(1, 40)) for at in range(count)]
    cases = ["case %d:\n            sum = round%d(sum, bytes[i]);\n            break;" % (at, at) for at in range(count)]
    sources = ["native/sum.c", "native/sort.c"]
    return {
        "native/sum.c": fill(template("native_sum.c.in"), C_NAME=c_name, ROUNDS="\n".join(rounds), CASES=_lines(cases, 8), COUNT=count, MAGIC=rng.randrange(1 << 40)),
        "native/sort.c": fill(template("native_sort.c.in"), C_NAME=c_name),
        "build.rs": fill(template("native_build.rs.in"), SOURCES=", ".join('"%s"' % source for source in sources), LIBRARY=c_name + "_native", SEED=rng.randrange(1 << 30), ROWS=150 * size),
    }


KINDS = {"model": model, "store": store, "flow": flow, "logic": logic, "tables": tables, "grammar": grammar, "events": events, "text": text, "native": native}
