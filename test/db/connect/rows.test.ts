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
      7::int4 as "alreadySo", '7'::text as some_text, array[1::int8] as seq_list_2`
    const wanted = [
      {
        firstSeq: 9_007_199_254_740_991,
        lagSeconds: 0.5,
        lastSeq: null,
        alreadySo: 7,
        someText: '7',
        seqList2: ['1'],
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

test('nothing outside src/db reads a column by its name in the database', () => {
  // Names of rows that are not the database's: problem codes, statements of OpenTelemetry, settings of Postgres.
  const files = globSync(
    'src/{append,followers,ledgers,records,verify,outside/{events,federation,webhooks}}/**/*.ts',
    { cwd: ROOT },
  )
  const faults = files.flatMap((file) =>
    readFileSync(join(ROOT, file), 'utf8')
      .split('\n')
      .flatMap((line, i) =>
        /\b(row|rows\[0\]!?|found|entry|record|r|e)\??\.[a-z]+_[a-z_]+\b/.test(line)
          ? [`${file}:${i + 1}: ${line.trim()}`]
          : [],
      ),
  )
  assert.deepEqual(faults, [])
})
