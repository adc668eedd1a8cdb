import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { DatabasePool } from '../../src/db/connect/pools.ts'
import { buildTestApp, expectStatus, genericBody } from '../helpers/app.ts'
import { assertProblem } from '../helpers/assert-problem.ts'

test('answers SQLSTATEs with 503 unavailable or outcome_unknown, bad text with 400, others with 500', async (t) => {
  const app = await buildTestApp(t)
  await app.sql('create table public.state (code text)')
  await app.sql("insert into public.state values ('')")
  await app.sql(`create function public.raise_state() returns trigger language plpgsql security definer
    set search_path = pg_catalog as $$
    declare state text;
    begin
      select code into state from public.state;
      if state <> '' then raise exception 'asked for' using errcode = state; end if;
      return null;
    end $$`)
  await app.sql(
    'create trigger raise_state before insert on tallystick.entries for each statement execute function public.raise_state()',
  )
  const before = await app.written()
  const send = async (code: string, headers: Record<string, string> = {}) => {
    await app.sql('update public.state set code = $1', [code])
    return app.send('POST', '/v1/records', { body: genericBody(), headers })
  }
  for (const code of UNAVAILABLE)
    assert.equal(assertProblem(await send(code), 503, 'unavailable')['retryable'], true, code)
  for (const code of ['40003', '57P01', 'XX000']) {
    assert.equal(assertProblem(await send(code), 503, 'outcome_unknown')['retryable'], false, code)
    const headers = { 'idempotency-key': randomUUID() }
    assert.equal(assertProblem(await send(code, headers), 503, 'outcome_unknown')['retryable'], true, code)
  }
  for (const code of ['22012', '23505', 'P0001']) assertProblem(await send(code), 500, 'internal_error')
  for (const code of ['22021', '22P05']) assertProblem(await send(code), 400, 'bad_request')
  assert.deepEqual(await app.written(), before)
  expectStatus(201, await send(''))
})

/** SQLSTATEs that are answered 503. The first row was once answered 500. */
const UNAVAILABLE = [
  ...['54000', '25P03', '55000', '55006', '42P01', '3F000', '0A000', '26000', 'F0000'],
  ...['53300', '55P03', '57014', '42501', '40001', '25006'],
]

test('answers 503 while the schema is missing, logs the SQLSTATE and counts unexpected errors', async (t) => {
  const app = await buildTestApp(t)
  const { id } = await app.notarize()
  const count = () =>
    [app.deps.readPool, app.deps.writePool].reduce((sum, pool) => sum + (pool as DatabasePool).unexpected, 0)
  assert.equal(count(), 0)
  await app.sql('alter schema tallystick rename to elsewhere')
  for (const answer of [
    await app.send('GET', `/v1/records/${id}`),
    await app.send('POST', '/v1/records', { body: genericBody() }),
  ])
    assert.equal(assertProblem(answer, 503, 'unavailable')['retryable'], true)
  await app.sql('alter schema elsewhere rename to tallystick')
  assert.ok(count() > 0)
  assert.match(app.logs(), /"level":50[^\n]*"code":"(42P01|3F000|42883)"/)
  expectStatus(200, await app.send('GET', `/v1/records/${id}`))
  await app.notarize()
})
