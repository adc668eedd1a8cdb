import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { withClient } from '../../../src/db/connect/client.ts'
import { createTestDatabase } from '../../helpers/database.ts'

const ROOT = resolve(import.meta.dirname, '../../..')

test('rows have columns in camelCase and numbers as numbers, however they are read', async (t) => {
  const database = await createTestDatabase(t)
  await withClient(database.ownerUrl, async (client) => {
    const text = `select 9007199254740991::int8 as first_seq, 0.5::numeric as lag_seconds, null::int8 as last_seq,
      7::int4 as "alreadySo", '7'::text as some_text, array[[1::int8, null]] as seq_list_2,
      array[0.5] as shares`
    const wanted = [
      {
        firstSeq: 9_007_199_254_740_991,
        lagSeconds: 0.5,
        lastSeq: null,
        alreadySo: 7,
        someText: '7',
        seqList2: [[1, null]],
        shares: [0.5],
      },
    ]
    assert.deepEqual((await client.query(text)).rows, wanted)
    for (let i = 0; i < 2; i++) assert.deepEqual((await client.query({ name: 'rows', text })).rows, wanted)
    await client.query('begin')
    await client.query(`declare rows_of_a_cursor cursor for ${text}`)
    assert.deepEqual((await client.query('fetch 10 from rows_of_a_cursor')).rows, wanted)
    await client.query('commit')
  })
})

test('values and warnings are unaffected by the database’s format settings', async (t) => {
  const { ownerUrl } = await createTestDatabase(t)
  const name = new URL(ownerUrl).pathname.slice(1)
  const settings = {
    datestyle: 'German',
    bytea_output: 'escape',
    standard_conforming_strings: 'off',
    client_min_messages: 'error',
    array_nulls: 'off',
  }
  await withClient(ownerUrl, async (client) => {
    for (const [setting, value] of Object.entries(settings))
      await client.query(`alter database "${name}" set ${setting} = '${value}'`)
  })
  await withClient(ownerUrl, async (client) => {
    const warnings: unknown[] = []
    client.on('notice', ({ message }) => warnings.push(message))
    const { rows } = await client.query(
      String.raw`select timestamptz '2026-11-28T12:00:00Z' as at, '\x0c5c'::bytea as bytes, ('\x0c5c'::bytea)::text as text`,
    )
    const bytes = Buffer.from([0x0c, 0x5c])
    assert.deepEqual(rows, [{ at: new Date('2026-11-28T12:00:00Z'), bytes, text: String.raw`\x0c5c` }])
    const given = await client.query('select x from unnest($1::text[]) x', [['a', null, 'NULL']])
    assert.deepEqual(given.rows, [{ x: 'a' }, { x: null }, { x: 'NULL' }])
    await client.query("do $$ begin raise warning 'heard'; end $$")
    assert.deepEqual(warnings, ['heard'])
  })
})

test('no code reads a column by its name in the database', () => {
  const files = ['src', 'worker', 'cli', 'bench'].flatMap((dir) => globSync(`${dir}/**/*.ts`, { cwd: ROOT }))
  const faults = files.flatMap((file) => {
    const code = codeOf(readFileSync(join(ROOT, file), 'utf8'))
    return [...code.matchAll(/[\w)\]!?]\.([a-z]+(?:_[a-z0-9]+)+)\b/g)]
      .map(([, name]) => name!)
      .filter((name) => !NOT_COLUMNS.test(name))
      .map((name) => `${file}: .${name}`)
  })
  assert.deepEqual(faults, [])
})

const NOT_COLUMNS = /^(crypto_sign|sodium)_/

/** Returns source code without its comments and strings. The expressions in a template string remain. */
function codeOf(text: string): string {
  const template = /`(?:[^`\\$]|\\.|\$(?!\{)|\$\{(?:[^`{}]|\{[^`{}]*\})*\})*`/gs
  let code = text.replace(
    /\/\*[\s\S]*?\*\/|(?<!:)\/\/.*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g,
    (found) => (found.includes('${') ? found : found.includes('`') ? '' : `''`),
  )
  for (let before = ''; before !== code; ) {
    before = code
    code = code.replace(template, (found) =>
      [...found.matchAll(/\$\{((?:[^`{}]|\{[^`{}]*\})*)\}/g)].map(([, put]) => put).join(' '),
    )
  }
  return code
}
