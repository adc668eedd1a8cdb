import type { JsonValue } from './json.ts'
import type { Meter } from './meter.ts'
import type { Pattern } from './pattern.ts'

export type Fault = {
  readonly keyword: string
  /** Says what the schema requires. Contains nothing from the value. */
  readonly message: string
  /**
   * Path of the faulty value, from the inside to the outside. Each surrounding check appends the name of the member
   * that it was checking.
   */
  readonly path: string[]
}

/**
 * Checks a value by one keyword or one schema. Returns null if the value is valid. `seen` collects the members and
 * items that were evaluated. It is null if no surrounding unevaluated… keyword needs them. After a fault, the content
 * of `seen` MUST NOT be used.
 */
export type Check = (value: JsonValue, meter: Meter, seen: EvaluatedMembers | null) => Fault | null

/** The members of an object, or the items of an array, that a subschema has evaluated. */
export class EvaluatedMembers {
  readonly members = new Set<string>()
  readonly items = new Set<number>()
  /** All items of the array before this index are evaluated. */
  itemsBefore = 0

  addAll(other: EvaluatedMembers, meter: Meter): void {
    meter.spend(STEPS_PER_NOTE * (other.members.size + other.items.size))
    for (const name of other.members) this.members.add(name)
    for (const index of other.items) this.items.add(index)
    this.itemsBefore = Math.max(this.itemsBefore, other.itemsBefore)
  }
}

/** Cost in steps of adding a member or an item to a set. */
export const STEPS_PER_NOTE = 12

/** What the compiler of a keyword can use from the surrounding schema. */
export type Compiling = {
  /** Returns the check of a subschema. `path`: path from this schema to the subschema. */
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

/** Number of characters that cost one step, for work that reads or hashes each character once. */
const CHARS_PER_STEP = 4

export function spendText(meter: Meter, chars: number): void {
  meter.spend(1 + Math.floor(chars / CHARS_PER_STEP))
}
