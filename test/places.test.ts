import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Family, listPlaces } from './helpers/places.ts'

/*
 * Limits the number of handwritten files that must change when a fact is added, such as a new member of records. Facts
 * of one sort are a family. Each family has a section here: its facts, the table that lists them, and the maximum
 * number of files. Files that must stay handwritten do not count.
 */

const MEMBERS: Family = {
  names: [
    /on_?behalf_?of|on-behalf-of/i,
    /occurred_?at|occurred-at/i,
    /traceparent/i,
    /\bparent\b|parent_?id\b/i,
    /\breferences?\b|reference_?list\b/i,
  ],
  atLeast: 4,
  // A file that matches this pattern gets new members from the table of members, so it need not change.
  table: /record-members\.ts|\botherMembers\b|\bother_members\b|\bSIGNED_MEMBERS\b/,
  promises: {
    // The files of actions make records of built-in types, with only the members that those types need.
    'sdk/actions/actions.ts': 'actions',
    'python/src/tallystick/actions/actions.py': 'actions',
    'python/src/tallystick/verify/line.py': 'the second verifier',
    'python/src/tallystick/verify/shown.py': 'the second verifier',
    'python/src/tallystick/verify/statement.py': 'the second verifier',
  },
}

const SECTIONS: readonly { fact: string; family: Family; beside: readonly string[]; most: number }[] = [
  {
    fact: 'a signed member of a record',
    family: MEMBERS,
    beside: ['src/proof/statement/record-members.ts', 'migrations/0004-records.sql (if searched by)'],
    most: 2,
  },
]

for (const { fact, family, beside, most } of SECTIONS)
  test(`${fact} occurs in at most ${most} files`, (t) => {
    const places = [...beside, ...listPlaces(family)]
    t.diagnostic(`${fact}: ${places.length} places\n${places.join('\n')}`)
    assert.ok(places.length <= most, places.join('\n'))
  })
