import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { asBase64, PACKED_TYPES } from '../../../src/db/connect/packed-bytes.ts'
import { connect } from '../../helpers/connect.ts'
import { createTestDatabase } from '../../helpers/database.ts'

test('any bytes are read as stored, and null as null', async (t) => {
  const client = await connect(t, (await createTestDatabase(t)).ownerUrl)
  const every = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  const texts = [
    '',
    ' ',
    '{"payload":"e30="} ',
    '\\',
    '\\x00',
    '\\\\101',
    '\\101',
    'é\\',
    '日本語'.repeat(50),
  ]
  const values = [null, every, randomBytes(1_000), ...texts.map((text) => Buffer.from(text))]
  for (const value of values) {
    const { rows } = await client.query({
      text: `select ${asBase64('b')} as packed, 7::bigint as number, 'a' as text from (select $1::bytea as b) x`,
      values: [value],
      types: PACKED_TYPES,
    })
    assert.deepEqual(rows, [{ packed: value, number: 7, text: 'a' }])
  }
})

test('no column has varchar, the type that marks packed bytes', async (t) => {
  const client = await connect(t, (await createTestDatabase(t)).ownerUrl)
  const { rows } = await client.query(
    `select attrelid::regclass::text, attname from pg_attribute join pg_class on pg_class.oid = attrelid
     where relnamespace = 'tallystick'::regnamespace and atttypid = 'varchar'::regtype`,
  )
  assert.deepEqual(rows, [])
})
