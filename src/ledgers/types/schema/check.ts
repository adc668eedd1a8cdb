import type { JsonValue } from './json.ts'
import type { Meter } from './meter.ts'
import type { Pattern } from './pattern.ts'

/** A fault of a value: the keyword that refuses it, and the place. */
export type Fault = {
  readonly keyword: string
  /** Describes what the schema requires, and contains nothing of the value. */
  readonly message: string
  /** Path from the value outwards: each check appends the name that it entered. */
  readonly path: string[]
}

/**
 * Checks one keyword, or one schema, on a value. Returns null if the value is valid. `seen`: collects the members and
 * items that were checked, if a surrounding unevaluated… keyword needs them. After a fault, the notes MUST NOT be
 * used.
 */
export type Check = (value: JsonValue, meter: Meter, seen: EvaluatedMembers | null) => Fault | null

/** Members of an object, or items of an array, that some subschema has checked. */
export class EvaluatedMembers {
  readonly members = new Set<string>()
  readonly items = new Set<number>()
  /** All items of an array before this index were checked. */
  itemsBefore = 0

  addAll(other: EvaluatedMembers, meter: Meter): void {
    meter.spend(STEPS_PER_NOTE * (other.members.size + other.items.size))
    for (const name of other.members) this.members.add(name)
    for (const index of other.items) this.items.add(index)
    this.itemsBefore = Math.max(this.itemsBefore, other.itemsBefore)
  }
}

/** Cost of adding a member or an item to a set. */
export const STEPS_PER_NOTE = 12

/** What a keyword needs of the surrounding schema when it is compiled. */
export type Compiling = {
  /** Returns the check of the subschema at this path below the schema. */
  subschema(...path: string[]): Check
  reference(reference: string): Check
  pattern(pattern: string): Pattern
}

export function fault(keyword: string, message: string): Fault {
  return { keyword, message, path: [] }
}

export function inside(found: Fault, segment: string): Fault {
  found.path.push(segment)
  return found
}

/** For work that reads each character once, or hashes it. */
const CHARS_PER_STEP = 4

export function spendText(meter: Meter, chars: number): void {
  meter.spend(1 + Math.floor(chars / CHARS_PER_STEP))
}
