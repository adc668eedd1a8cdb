import type { JsonValue } from './json.ts'
import type { Meter } from './meter.ts'
import type { Pattern } from './pattern.ts'

/** A fault of a value: the keyword that refuses it, and where. */
export type Fault = {
  readonly keyword: string
  /** Says what the schema wants, and nothing of the value. */
  readonly message: string
  /** From the value inwards to the whole: each check adds where it went in. */
  readonly path: string[]
}

/**
 * One keyword, or one schema, on one value; null: nothing is wrong. `seen`: where the members and items that were looked
 * at are noted, if an unevaluated… around asks for them. After a fault, what was noted MUST NOT be used.
 */
export type Check = (value: JsonValue, meter: Meter, seen: Seen | null) => Fault | null

/** The members of an object, or the items of an array, that some subschema has looked at. */
export class Seen {
  readonly members = new Set<string>()
  readonly items = new Set<number>()
  /** Items of an array before this one. */
  itemsBefore = 0

  addAll(other: Seen, meter: Meter): void {
    meter.spend(STEPS_PER_NOTE * (other.members.size + other.items.size))
    for (const name of other.members) this.members.add(name)
    for (const index of other.items) this.items.add(index)
    this.itemsBefore = Math.max(this.itemsBefore, other.itemsBefore)
  }
}

/** To note a member or an item in a set. */
export const STEPS_PER_NOTE = 12

/** Facts about the schema around a keyword that compiling it needs. */
export type Compiling = {
  /** The check of the subschema at this path below the schema. */
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

/** For what looks at each character once, or hashes it. */
const CHARS_PER_STEP = 4

export function spendText(meter: Meter, chars: number): void {
  meter.spend(1 + Math.floor(chars / CHARS_PER_STEP))
}
