import type { JsonValue } from './json.ts'
import type { Meter } from './meter.ts'
import type { Pattern } from './pattern.ts'

/** A fault of a value: the keyword that refuses the value, and the path of the value. */
export type Fault = {
  readonly keyword: string
  /** States what the schema requires. It contains nothing from the value. */
  readonly message: string
  /** Path from the faulty value outwards. Each surrounding check appends the name of the member that it checked. */
  readonly path: string[]
}

/**
 * Checks a value by one keyword or one schema. Returns null if the value is valid. `seen`: collects the members and
 * items that were checked; null: no surrounding unevaluated… keyword needs them. After a fault, the content of `seen`
 * MUST NOT be used.
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

/** What a keyword can use from the surrounding schema when it is compiled. */
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

/** Characters per step, for work that reads or hashes each character once. */
const CHARS_PER_STEP = 4

export function spendText(meter: Meter, chars: number): void {
  meter.spend(1 + Math.floor(chars / CHARS_PER_STEP))
}
