import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'

type Status = 'ok' | 'error' | 'denied' | 'unknown'

export type OutcomeCase = {
  readonly name: string
  /** Kind of action that has the status: a deed, a call of a model, a run, or a part of a run. */
  readonly of: 'deed' | 'model' | 'run' | 'part'
  readonly what: string
  /** Maps an ingestion path to the status. A list has the statuses of several actions, in the order of their start. */
  readonly expected: Readonly<Record<string, Status | readonly Status[]>>
}

type Table = { readonly ways: Readonly<Record<string, string>>; readonly cases: readonly OutcomeCase[] }

/**
 * The table of docs/reference/outcomes.md as data. The tests of all ingestion paths read it, including those in Python.
 */
export const OUTCOMES: Table = JSON.parse(
  readFileSync(new URL('../vectors/outcomes.json', import.meta.url), 'utf8'),
)

/**
 * Returns the cases of an ingestion path. `expect` fails if a status differs from the table. `assertCovered` fails if a
 * case was not tested.
 */
export function outcomeCases(way: string) {
  assert.ok(way in OUTCOMES.ways, `no way in is called ${way}`)
  const left = new Map(
    OUTCOMES.cases.flatMap(({ name, expected }) =>
      expected[way] === undefined ? [] : [[name, [expected[way]].flat()] as const],
    ),
  )
  const all = new Map(left)
  return {
    names: [...all.keys()],
    expect(name: string, statuses: readonly string[]): void {
      const expected = all.get(name)
      assert.ok(expected, `the table has no case ${name} for ${way}`)
      assert.deepEqual(statuses, expected, `${way}: ${name}`)
      left.delete(name)
    },
    assertCovered(): void {
      assert.deepEqual([...left.keys()], [], `cases that the test of ${way} leaves out`)
    },
  }
}
