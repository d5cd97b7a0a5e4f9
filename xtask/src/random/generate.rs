//! Makes a random program from a seed.
//!
//! First names are planned: which functions, kernels and variables exist, and for each unit whether it defines
//! the name, and how. Then the definitions are filled in, so that bodies can mention any name that their unit
//! can see.

use super::classes::{CLASSES, Classes};
use super::mistakes;
use super::model::{
    Action, Alias, Assembler, DebugInfo, Function, FunctionRef, Initial, Linkage, Pointer, Program, Role, Shape, Signature,
    Space, SystemCall, Unit, UnitKind, Variable, VariableRef,
};
use super::rng::Rng;
use super::unified;

/// An architecture: which virtual ones its code may come from, and which others' code it accepts.
struct Architecture {
    name: &'static str,
    virtuals: &'static [&'static str],
    accepts: &'static [&'static str],
}

/// The architectures that can be linked for.
const ARCHITECTURES: &[Architecture] = &[
    Architecture { name: "sm_75", virtuals: &["sm_75"], accepts: &[] },
    Architecture { name: "sm_80", virtuals: &["sm_75", "sm_80"], accepts: &[] },
    Architecture { name: "sm_86", virtuals: &["sm_75", "sm_80", "sm_86"], accepts: &["sm_80"] },
    Architecture { name: "sm_87", virtuals: &["sm_75", "sm_80", "sm_87"], accepts: &[] },
    Architecture { name: "sm_88", virtuals: &["sm_75", "sm_80", "sm_88"], accepts: &[] },
    Architecture { name: "sm_89", virtuals: &["sm_75", "sm_80", "sm_89"], accepts: &["sm_80", "sm_86"] },
    Architecture { name: "sm_90", virtuals: &["sm_75", "sm_80", "sm_90"], accepts: &[] },
    Architecture { name: "sm_90a", virtuals: &["sm_80", "sm_90", "sm_90a"], accepts: &["sm_90"] },
    Architecture { name: "sm_100", virtuals: &["sm_75", "sm_90", "sm_100"], accepts: &[] },
    Architecture { name: "sm_100a", virtuals: &["sm_90", "sm_100", "sm_100a"], accepts: &[] },
    Architecture { name: "sm_103", virtuals: &["sm_90", "sm_103"], accepts: &[] },
    Architecture { name: "sm_107", virtuals: &["sm_90", "sm_107"], accepts: &[] },
    Architecture { name: "sm_110", virtuals: &["sm_90", "sm_110"], accepts: &[] },
    Architecture { name: "sm_120", virtuals: &["sm_75", "sm_90", "sm_120"], accepts: &[] },
    Architecture { name: "sm_121", virtuals: &["sm_90", "sm_121"], accepts: &[] },
];

/// The architecture of this name in the table.
pub fn architecture(name: &str) -> Result<&'static str, String> {
    let names = || ARCHITECTURES.iter().map(|row| row.name);
    names()
        .find(|known| *known == name)
        .ok_or_else(|| format!("unknown architecture '{name}'; known are {}", names().collect::<Vec<_>>().join(", ")))
}

/// A name and, for each unit, how the unit defines it.
struct Planned<T> {
    name: String,
    what: T,
    places: Vec<Option<Linkage>>,
}

impl<T> Planned<T> {
    /// Whether code in this unit can mention the name.
    fn visible_in(&self, unit: usize) -> bool {
        self.places[unit].is_some()
            || self.places.iter().any(|place| matches!(place, Some(linkage) if *linkage != Linkage::Local))
    }
}

/// What is planned for a device function.
struct FunctionPlan {
    signature: Signature,
    /// Called only by other dead functions.
    dead: bool,
}

/// Every name of the program.
struct Plan {
    functions: Vec<Planned<FunctionPlan>>,
    /// With the bytes of their second parameter, on which all copies must agree.
    kernels: Vec<Planned<usize>>,
    variables: Vec<Planned<Shape>>,
}

/// The body that is being filled in.
#[derive(Clone, Copy)]
struct Place {
    unit: usize,
    /// Index in the list of functions: calls usually go to later ones, so that most programs do not recurse.
    index: Option<usize>,
    dead: bool,
    kernel: bool,
    independent_samplers: bool,
    /// The number of the virtual architecture.
    virtual_number: u32,
}

/// The number in the name of an architecture.
fn number(name: &str) -> u32 {
    name.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// The program of a seed.
pub fn program(seed: u64, targets: &[&'static str], classes: &Classes) -> Program {
    let mut rng = Rng::new(seed);
    let target = *rng.pick(targets);
    let is_whole = classes.has("whole-program") && rng.chance(70);
    let count = if is_whole { 1 } else { rng.weighted(&[(15, 1), (30, 2), (25, 3), (12, 4), (8, 5), (5, 6), (5, 7)]) };
    let plan = plan(&mut rng, count, classes);
    let mut program = Program { target, units: Vec::new(), options: Vec::new(), index: None };
    for index in 0..count {
        program.units.push(unit(&mut rng, index, target, &plan, classes));
        program.units[index].kind = match is_whole {
            true => UnitKind::WholeProgram,
            false if classes.has("position-independent") && rng.chance(60) => UnitKind::PositionIndependent,
            false => UnitKind::Relocatable,
        };
        // With full debug information, compilers leave the shared memory of whole programs to the linker, and the reference writes symbol
        // tables without their first entry then.
        if is_whole && program.units[index].debug == DebugInfo::Full {
            program.units[index].debug = DebugInfo::Lines;
        }
    }
    // Copies of a weak function are often equal except for the unit's virtual architecture.
    share_bodies(&mut rng, &mut program);
    for class in CLASSES {
        if let Some((percent, words)) = class.option
            && classes.has(class.name)
            && rng.chance(percent)
        {
            program.options.extend(words.split(' ').map(str::to_owned));
        }
    }
    if classes.has("cuda-12") {
        // CUDA 12.9 knows these by other names.
        let is_known = |unit: &&mut Unit| !unit.real_arch.starts_with("sm_110") && !unit.real_arch.starts_with("sm_88");
        let older = program.units.iter_mut().filter(is_known).filter(|_| rng.chance(50));
        older.for_each(|unit| unit.assembler = Assembler::Cuda12);
    }
    if classes.has("older-release") {
        let is_known = |unit: &&mut Unit| !unit.real_arch.starts_with("sm_107") && !unit.virtual_arch.starts_with("sm_107");
        let older = program.units.iter_mut().filter(is_known).filter(|_| rng.chance(50));
        older.for_each(|unit| unit.assembler = Assembler::OlderRelease);
    }
    if classes.has("unified") {
        unified::choose(&mut rng, &mut program);
    }
    if classes.has("errors") {
        mistakes::make(&mut rng, &mut program);
    }
    program
}

/// Plans the names.
fn plan(rng: &mut Rng, units: usize, classes: &Classes) -> Plan {
    let mut plan = Plan { functions: Vec::new(), kernels: Vec::new(), variables: Vec::new() };
    for index in 0..rng.weighted(&[(5, 0), (10, 1), (20, 2), (25, 4), (25, 6), (15, 9)]) {
        let signature = rng.weighted(&[
            (50, Signature::Word),
            (15, Signature::Nothing),
            (10, Signature::TwoWords),
            (10, Signature::Long),
            (5, Signature::Double),
            (10, Signature::Taker),
        ]);
        let dead = rng.chance(15);
        let name = if rng.chance(20) { format!("_Z2f{index}i") } else { format!("f{index}") };
        let mut places = places(rng, units, classes.has("weak"));
        if dead && classes.has("undefined") && rng.chance(25) {
            places = vec![None; units];
        }
        plan.functions.push(Planned { name, what: FunctionPlan { signature, dead }, places });
    }
    for index in 0..rng.weighted(&[(3, 0), (27, 1), (35, 2), (20, 3), (15, 4)]) {
        let mut places = places(rng, units, classes.has("weak"));
        let global = places.contains(&Some(Linkage::Strong));
        let mut seen = false;
        // Compilers make the names of static kernels unique: the reference joins the parameters of namesakes.
        for place in &mut places {
            if *place == Some(Linkage::Local) && (std::mem::replace(&mut seen, true) || global) {
                *place = None;
            }
        }
        plan.kernels.push(Planned { name: format!("k{index}"), what: *rng.pick(&[0, 0, 4, 12, 40]), places });
    }
    for (space, letter, most) in [(Space::Global, 'g', 5), (Space::Const, 'c', 3), (Space::Shared, 's', 4)] {
        if space == Space::Shared && !classes.has("shared") {
            continue;
        }
        for index in 0..rng.below(most + 1) {
            let align = *rng.pick(&[1, 2, 4, 4, 8, 16, 32]);
            let size = *rng.pick(&[1, 2, 3, 4, 4, 8, 12, 16, 20, 32, 40, 64, 100, 256]);
            let managed = space == Space::Global && classes.has("managed") && rng.chance(7);
            let mut places = places(rng, units, classes.has("weak-variables"));
            if managed {
                one_strong(rng, &mut places);
            }
            if space == Space::Global && classes.has("common") && rng.chance(10) {
                places.iter_mut().flatten().for_each(|linkage| *linkage = Linkage::Common);
            }
            let shape = Shape { space, align, size, managed };
            plan.variables.push(Planned { name: format!("{letter}{index}"), what: shape, places });
        }
    }
    if classes.has("shared") && classes.has("dynamic-shared") && rng.chance(40) {
        for index in 0..rng.between(1, 2) {
            let shape = Shape { space: Space::Shared, align: *rng.pick(&[4, 8, 16, 32]), size: 0, managed: false };
            let places = vec![None; units];
            plan.variables.push(Planned { name: format!("dynamic{index}"), what: shape, places });
        }
    }
    plan
}

/// Which units define a name, and how.
fn places(rng: &mut Rng, units: usize, weak: bool) -> Vec<Option<Linkage>> {
    let mut places = vec![None; units];
    match rng.weighted(&[(50, 0), (28, 1), (12, 2), (10, 3)]) {
        1 if weak => {
            let share = rng.between(30, 100);
            for place in &mut places {
                if rng.chance(share) {
                    *place = Some(Linkage::Weak);
                }
            }
            places[rng.below(units)] = Some(Linkage::Weak);
        }
        2 if weak => {
            for place in &mut places {
                if rng.chance(50) {
                    *place = Some(Linkage::Weak);
                }
            }
            places[rng.below(units)] = Some(Linkage::Strong);
        }
        3 => {
            // Local in some units, and perhaps a strong one of the same name elsewhere.
            for place in &mut places {
                if rng.chance(50) {
                    *place = Some(Linkage::Local);
                }
            }
            places[rng.below(units)] = Some(if rng.chance(40) { Linkage::Strong } else { Linkage::Local });
        }
        _ => places[rng.below(units)] = Some(Linkage::Strong),
    }
    places
}

/// Makes one strong definition of what may be anything.
fn one_strong(rng: &mut Rng, places: &mut [Option<Linkage>]) {
    places.fill(None);
    let unit = rng.below(places.len());
    places[unit] = Some(Linkage::Strong);
}

/// Fills in one unit.
fn unit(rng: &mut Rng, index: usize, target: &'static str, plan: &Plan, classes: &Classes) -> Unit {
    let (real_arch, virtual_arch) = architectures(rng, target, classes);
    let debug = match rng.below(100) {
        0..12 if classes.has("lines") => DebugInfo::Lines,
        12..18 if classes.has("debug") => DebugInfo::Full,
        _ => DebugInfo::None,
    };
    let independent_samplers = classes.has("textures") && rng.chance(50);
    let virtual_number = number(virtual_arch);
    let mut unit = Unit { name: format!("u{index}"), virtual_arch, real_arch, debug, independent_samplers, ..Unit::default() };
    for planned in &plan.variables {
        if let Some(linkage) = planned.places[index] {
            let initial = initial(rng, index, planned, linkage, plan, classes);
            let mut shape = planned.what.clone();
            if let Initial::Pointers(pointers) = &initial {
                shape.size = pointers.len() * 8;
                shape.align = shape.align.max(8);
            }
            unit.variables.push(Variable { name: planned.name.clone(), linkage, shape, initial });
        }
    }
    for (place, planned) in plan.functions.iter().enumerate() {
        if let Some(linkage) = planned.places[index] {
            let at = Place {
                unit: index,
                index: Some(place),
                dead: planned.what.dead,
                kernel: false,
                independent_samplers,
                virtual_number,
            };
            let body = body(rng, at, plan, classes);
            let role = Role::Device(planned.what.signature);
            unit.functions.push(Function { name: planned.name.clone(), linkage, role, body });
            if classes.has("alias") && linkage == Linkage::Strong && rng.chance(25) {
                let of = FunctionRef { name: planned.name.clone(), signature: planned.what.signature };
                unit.aliases.push(Alias { name: format!("alias_{}", planned.name), of });
            }
        }
    }
    for planned in &plan.kernels {
        if let Some(linkage) = planned.places[index] {
            let at = Place { unit: index, index: None, dead: false, kernel: true, independent_samplers, virtual_number };
            let body = body(rng, at, plan, classes);
            let role = Role::Kernel { extra_bytes: planned.what, bounds: bounds(rng, classes, virtual_number) };
            unit.functions.push(Function { name: planned.name.clone(), linkage, role, body });
        }
    }
    if rng.chance(40) {
        rng.shuffle(&mut unit.functions);
    }
    if rng.chance(40) {
        rng.shuffle(&mut unit.variables);
    }
    unit
}

/// The GPU that a unit is compiled for, and the virtual architecture.
fn architectures(rng: &mut Rng, target: &'static str, classes: &Classes) -> (&'static str, &'static str) {
    let row = ARCHITECTURES.iter().find(|row| row.name == target).unwrap_or(&ARCHITECTURES[0]);
    let real_arch = match row.accepts {
        [] => target,
        others if classes.has("older-code") && rng.chance(15) => rng.pick(others),
        _ => target,
    };
    let row = ARCHITECTURES.iter().find(|row| row.name == real_arch).unwrap_or(row);
    let virtual_arch = if classes.has("virtual") && rng.chance(35) { rng.pick(row.virtuals) } else { real_arch };
    (real_arch, virtual_arch)
}

/// Launch bounds of a kernel, and what it says of its clusters.
fn bounds(rng: &mut Rng, classes: &Classes, virtual_number: u32) -> Vec<&'static str> {
    let mut bounds = launch_bounds(rng, classes);
    if classes.has("clusters") && virtual_number >= 90 && rng.chance(50) {
        let choices: [&[&'static str]; 5] = [
            &[".explicitcluster"],
            &[".reqnctapercluster 2"],
            &[".reqnctapercluster 2, 2, 1"],
            &[".explicitcluster", ".maxclusterrank 4"],
            &[".maxclusterrank 8"],
        ];
        let chosen: &&[&str] = rng.pick(&choices);
        bounds.extend_from_slice(chosen);
    }
    bounds
}

/// Launch bounds of a kernel.
fn launch_bounds(rng: &mut Rng, classes: &Classes) -> Vec<&'static str> {
    if !classes.has("bounds") || rng.chance(70) {
        return Vec::new();
    }
    rng.pick(&[
        &[".maxntid 64, 1, 1"][..],
        &[".reqntid 32, 2, 1"],
        &[".maxntid 128, 2, 1", ".minnctapersm 2"],
        &[".maxnreg 64"],
        &[".maxnreg 128"],
        &[".reqntid 64", ".maxnreg 80"],
    ])
    .to_vec()
}

/// The first value of a variable. The size of a name must be the same everywhere, so only strong variables in
/// one place become arrays of pointers.
fn initial(rng: &mut Rng, unit: usize, planned: &Planned<Shape>, linkage: Linkage, plan: &Plan, classes: &Classes) -> Initial {
    let shape = &planned.what;
    if shape.space == Space::Shared || linkage == Linkage::Common || shape.managed {
        return Initial::None;
    }
    let alone = linkage == Linkage::Local;
    if alone && rng.chance(35) || shape.size.is_multiple_of(8) && shape.align >= 8 && rng.chance(40) {
        let count = if alone { rng.between(1, 4) } else { shape.size / 8 };
        return Initial::Pointers((0..count).map(|_| pointer(rng, unit, &planned.name, plan, classes)).collect());
    }
    if rng.chance(55) {
        let count = rng.between(1, shape.size);
        return Initial::Bytes((0..count).map(|_| rng.next() as u8).collect());
    }
    Initial::None
}

/// One element of an array of pointers.
fn pointer(rng: &mut Rng, unit: usize, own_name: &str, plan: &Plan, classes: &Classes) -> Pointer {
    let functions: Vec<_> =
        plan.functions.iter().filter(|planned| planned.visible_in(unit) && (!planned.what.dead || rng.chance(10))).collect();
    // Only to variables that are planned earlier, so that pointers never form a circle.
    let variables: Vec<_> = plan
        .variables
        .iter()
        .take_while(|planned| planned.name != own_name)
        .filter(|planned| planned.what.space != Space::Shared && planned.visible_in(unit))
        .collect();
    match rng.below(3) {
        0 if classes.has("indirect") && !functions.is_empty() => {
            let planned = rng.pick(&functions);
            Pointer::Function(FunctionRef { name: planned.name.clone(), signature: planned.what.signature })
        }
        1 if !variables.is_empty() => {
            let planned = rng.pick(&variables);
            let variable = VariableRef { name: planned.name.clone(), shape: planned.what.clone() };
            // The bare address of a constant is not a pointer that code can use, and is rarely written.
            let generic = planned.what.space == Space::Const || rng.chance(70);
            let offset = if rng.chance(30) { rng.below(planned.what.size) } else { 0 };
            Pointer::Variable { variable, generic, offset }
        }
        _ => Pointer::Null,
    }
}

/// The body of a function.
fn body(rng: &mut Rng, place: Place, plan: &Plan, classes: &Classes) -> Vec<Action> {
    let count = if place.kernel { rng.between(0, 6) } else { rng.between(0, 4) };
    (0..count).filter_map(|_| action(rng, place, plan, classes)).collect()
}

/// Makes an action, where it finds something to act on.
type Make = fn(&mut Rng, Place, &Plan, &Classes) -> Option<Action>;

/// The actions: how often each is chosen, the class of programs that it belongs to (the empty one are all), and how it is made.
static ACTIONS: [(usize, &str, Make); 17] = [
    (30, "", |rng, place, plan, classes| Some(Action::Call(function(rng, place, plan, classes)?))),
    (7, "indirect", |rng, _, _, _| Some(Action::CallPointer(*rng.pick(&Signature::ALL)))),
    (2, "indirect", call_one_of),
    (7, "indirect", |rng, place, plan, classes| Some(Action::TakeAddress(function(rng, place, plan, classes)?))),
    (3, "launch", |rng, place, plan, _| {
        let kernels: Vec<_> = plan.kernels.iter().filter(|kernel| kernel.places[place.unit].is_some()).collect();
        (!kernels.is_empty()).then(|| Action::TakeKernelAddress(rng.pick(&kernels).name.clone()))
    }),
    (18, "", |rng, place, plan, _| part_of_variable(rng, place, plan).map(|(variable, offset)| Action::Touch(variable, offset))),
    (4, "", |rng, place, plan, _| part_of_variable(rng, place, plan).map(|(variable, offset)| Action::PointTo(variable, offset))),
    (6, "shared", |rng, _, _, _| {
        Some(Action::OwnShared { align: *rng.pick(&[1, 4, 8, 16]), size: *rng.pick(&[1, 4, 12, 24, 64]) })
    }),
    (5, "", |rng, _, _, _| Some(Action::OwnStack(*rng.pick(&[4, 16, 40, 128, 600])))),
    (6, "", |rng, _, _, _| Some(if rng.chance(8) { Action::AnyBarrier } else { Action::Barrier(rng.below(16)) })),
    (5, "", |rng, _, _, _| Some(Action::Registers(*rng.pick(&[10, 20, 30, 50, 90])))),
    (8, "constants", |rng, _, _, _| Some(Action::Doubles(rng.next()))),
    (3, "constants", |rng, _, _, _| Some(Action::JumpTable(rng.between(4, 9)))),
    (5, "system", |rng, _, _, _| {
        use SystemCall::{Allocate, Assert, Print, Release};
        Some(Action::System(*rng.pick(&[Print, Print, Allocate, Release, Assert])))
    }),
    (14, "textures", read_texture),
    (8, "shared-barriers", |rng, place, _, _| match place.virtual_number {
        90.. if rng.chance(25) => Some(Action::TensorCopy),
        80.. => Some(Action::SharedBarrier { looped: rng.chance(30) }),
        _ => None,
    }),
    (4, "ask-constant", |_, _, _, _| Some(Action::AskConstant)),
];

/// One action; none where the choice finds nothing to act on.
fn action(rng: &mut Rng, place: Place, plan: &Plan, classes: &Classes) -> Option<Action> {
    let is_on = |class: &str| class.is_empty() || classes.has(class);
    let make = rng.weighted(&ACTIONS.map(|(weight, class, make)| (if is_on(class) { weight } else { 0 }, make)));
    make(rng, place, plan, classes)
}

/// A call through a pointer to one of one or two functions.
fn call_one_of(rng: &mut Rng, place: Place, plan: &Plan, classes: &Classes) -> Option<Action> {
    let first = function(rng, place, plan, classes)?;
    let mut list = vec![first];
    if let Some(next) = function(rng, place, plan, classes)
        && next.signature == list[0].signature
        && next.name != list[0].name
    {
        list.push(next);
    }
    Some(Action::CallOneOf(list))
}

/// A read of a texture or a surface.
fn read_texture(rng: &mut Rng, place: Place, _: &Plan, _: &Classes) -> Option<Action> {
    if rng.chance(35) {
        return Some(Action::ReadSurface(format!("surface{}", rng.below(3))));
    }
    let texture = format!("texture{}", rng.below(3));
    let sampler = place.independent_samplers.then(|| format!("sampler{}", rng.below(3)));
    Some(Action::ReadTexture { texture, sampler })
}

/// A variable, and an offset in it.
fn part_of_variable(rng: &mut Rng, place: Place, plan: &Plan) -> Option<(VariableRef, usize)> {
    let variable = variable(rng, place, plan)?;
    let offset = rng.below(variable.shape.size.max(1));
    Some((variable, offset))
}

/// A function to call or point to.
fn function(rng: &mut Rng, place: Place, plan: &Plan, classes: &Classes) -> Option<FunctionRef> {
    let anywhere = classes.has("recursion") && rng.chance(12);
    let candidates: Vec<_> = plan
        .functions
        .iter()
        .enumerate()
        .filter(|(index, planned)| {
            let nowhere = planned.places.iter().all(Option::is_none);
            (planned.visible_in(place.unit) || nowhere && place.dead)
                && planned.what.dead == (place.dead && (planned.what.dead || nowhere))
                && (anywhere || place.index.is_none_or(|own| *index > own))
        })
        .map(|(_, planned)| planned)
        .collect();
    if candidates.is_empty() {
        return None;
    }
    let planned = rng.pick(&candidates);
    Some(FunctionRef { name: planned.name.clone(), signature: planned.what.signature })
}

/// A variable to use.
fn variable(rng: &mut Rng, place: Place, plan: &Plan) -> Option<VariableRef> {
    let candidates: Vec<_> =
        plan.variables.iter().filter(|planned| planned.visible_in(place.unit) || planned.what.size == 0).collect();
    if candidates.is_empty() {
        return None;
    }
    let planned = rng.pick(&candidates);
    Some(VariableRef { name: planned.name.clone(), shape: planned.what.clone() })
}

/// Gives some weak copies the body of the first copy, as far as the names in it mean the same there.
fn share_bodies(rng: &mut Rng, program: &mut Program) {
    let places: Vec<_> = program.functions().collect();
    for (unit, index) in places {
        let function = &program.units[unit].functions[index];
        if function.linkage != Linkage::Weak || rng.chance(55) {
            continue;
        }
        let name = function.name.clone();
        let first = program
            .units
            .iter()
            .flat_map(|unit| &unit.functions)
            .find(|other| other.name == name && other.linkage == Linkage::Weak)
            .cloned();
        let Some(first) = first else { continue };
        let local = |name: &str| {
            program.units.iter().any(|unit| {
                unit.functions.iter().any(|other| other.name == name && other.linkage == Linkage::Local)
                    || unit.variables.iter().any(|other| other.name == name && other.linkage == Linkage::Local)
            })
        };
        let (independent, at_least) = (program.units[unit].independent_samplers, number(program.units[unit].virtual_arch));
        let fits = first.body.iter().all(|action| {
            !action.names().into_iter().any(local)
                && !matches!(action, Action::TakeKernelAddress(_))
                && (at_least >= 90 || !matches!(action, Action::TensorCopy))
                && (at_least >= 80 || !matches!(action, Action::SharedBarrier { .. }))
                && !matches!(action, Action::ReadTexture { sampler, .. } if sampler.is_some() != independent)
        });
        if fits {
            let copy = &mut program.units[unit].functions[index];
            copy.body = first.body;
            copy.role = first.role;
        }
    }
}
