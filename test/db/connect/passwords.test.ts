import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Database } from '../../../src/db/connect/connection.ts'
import { openPasswords, type PasswordSource } from '../../../src/db/connect/passwords.ts'
import { PASSWORD_BYTES_MAX, PASSWORD_COMMAND_EVERY_MS } from '../../../src/db/limits.ts'
import { parseConfig } from '../../../src/run/config.ts'
import { temporaryDir } from '../../helpers/postgres.ts'

const LOGIN = { host: 'db.example', port: 5433, user: 'tallystick_api', database: 'ledgers' }
const PATH = process.env['PATH']!

function open(source: PasswordSource) {
  return openPasswords(source, LOGIN, 1_000)
}

function run(script: string, cacheMs = 60_000) {
  return open({ command: ['/bin/sh', '-c', script], cacheMs, env: { PATH } })
}

test('a password file is read each time, without one line break at its end', async () => {
  const file = join(temporaryDir(), 'password')
  const passwords = open({ file })
  for (const [text, password] of [
    ['first\n', 'first'],
    ['second\r\n', 'second'],
    [' third ', ' third '],
  ] as const) {
    writeFileSync(file, text)
    assert.equal(await passwords.get(), password)
  }
})

test('a file that holds no password is refused, and nothing of it is shown', async () => {
  const file = join(temporaryDir(), 'password')
  await assert.rejects(open({ file }).get(), /the password file cannot be read: ENOENT/)
  for (const [text, reason] of [
    ['', /is empty/],
    ['\n', /is empty/],
    ['hush\nhush', /has several lines/],
    ['hush'.repeat(PASSWORD_BYTES_MAX), /is longer than 16384 bytes: it must be only the password/],
  ] as const) {
    writeFileSync(file, text)
    await assert.rejects(
      open({ file }).get(),
      ({ message }: Error) => reason.test(message) && !/hush/.test(message),
    )
  }
})

test('a command is run once for all callers at the same time, and not again while its answer is fresh', async () => {
  const runs = join(temporaryDir(), 'runs')
  const passwords = run(`sleep 0.1; echo run >> ${runs}; echo token-$(wc -l < ${runs})`)
  const all = await Promise.all(Array.from({ length: 20 }, () => passwords.get()))
  assert.deepEqual(new Set(all), new Set(['token-1']))
  assert.equal(await passwords.get(), 'token-1')
})

test('after a refused password the command runs again, at most once a second', async () => {
  const runs = join(temporaryDir(), 'runs')
  const passwords = run(`echo run >> ${runs}; echo token-$(wc -l < ${runs})`)
  assert.equal(await passwords.get(), 'token-1')
  passwords.refused()
  assert.equal(await passwords.get(), 'token-1')
  await new Promise((resolve) => setTimeout(resolve, PASSWORD_COMMAND_EVERY_MS))
  passwords.refused()
  assert.equal(await passwords.get(), 'token-2')
})

test('a password at half its lifetime is renewed in the background while still in use', async () => {
  const runs = join(temporaryDir(), 'runs')
  const passwords = run(`echo run >> ${runs}; echo token-$(wc -l < ${runs})`, 400)
  assert.equal(await passwords.get(), 'token-1')
  const startedAt = performance.now()
  const seen = new Set<string>()
  while (!seen.has('token-2') && performance.now() - startedAt < 5_000) {
    seen.add(await passwords.get())
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.deepEqual([...seen], ['token-1', 'token-2'])
})

test('a command’s environment has host, port and user, and none of our secrets', async () => {
  const { database } = parseConfig({
    PATH,
    TALLYSTICK_MASTER_KEY: '0'.repeat(64),
    DATABASE_URL: 'postgres://owner:hush@db.example/ledgers',
    AWS_REGION: 'eu-central-1',
    TALLYSTICK_DATABASE_PASSWORD_COMMAND: '["/bin/sh", "-c", "env | sort | tr \'\\n\' \' \'"]',
  })
  const found = await open(database.password!).get()
  for (const part of ['AWS_REGION=eu-central-1', 'PGHOST=db.example', 'PGPORT=5433', 'PGUSER=tallystick_api'])
    assert.ok(found.includes(part), found)
  assert.doesNotMatch(found, /TALLYSTICK|DATABASE_URL/)
})

test('a command’s words are passed as arguments, without a shell', async () => {
  const { database } = parseConfig({ PATH, TALLYSTICK_DATABASE_PASSWORD_COMMAND: ' echo  a;b  * ' })
  assert.equal(await open(database.password!).get(), 'a;b *')
  for (const line of [`echo "a b"`, '["echo", 1]', '[', '[]', '{}"'])
    assert.throws(
      () => parseConfig({ TALLYSTICK_DATABASE_PASSWORD_COMMAND: line }),
      /TALLYSTICK_DATABASE_PASSWORD_COMMAND: must be words separated by spaces, or/,
      line,
    )
})

test('the error of a failed command says how it failed, and never its output', async () => {
  const left = join(temporaryDir(), 'left')
  for (const [script, reason] of [
    ['echo hush >&2; echo hush; exit 3', /failed with exit code 3: run it by hand/],
    [`sleep 20; touch ${left}`, /took too long and was stopped/],
    ['yes hush', /printed more than 16384 bytes/],
    ['true', /the output of the password command \/bin\/sh is empty/],
    ['kill -9 $$', /failed with SIGKILL/],
  ] as const) {
    await assert.rejects(
      run(script).get(),
      ({ message }: Error) => reason.test(message) && !/hush/.test(message),
    )
  }
  assert.equal(existsSync(left), false)
  const missing = { command: ['/nowhere/token'], cacheMs: 0, env: {} } as const
  await assert.rejects(open(missing).get(), /the password command \/nowhere\/token does not exist/)
})

test('two sources of a password are refused', () => {
  const options = { caFile: null, password: { file: '/run/password' } }
  assert.throws(
    () => new Database('postgres://api:hush@db.example/ledgers', options),
    /the URL has a password, and TALLYSTICK_DATABASE_PASSWORD_FILE or/,
  )
  assert.throws(
    () =>
      parseConfig({
        TALLYSTICK_DATABASE_PASSWORD_FILE: '/run/password',
        TALLYSTICK_DATABASE_PASSWORD_COMMAND: 'token',
      }),
    /TALLYSTICK_DATABASE_PASSWORD_COMMAND: is set, and so is TALLYSTICK_DATABASE_PASSWORD_FILE/,
  )
  assert.throws(
    () => parseConfig({ TALLYSTICK_DATABASE_PASSWORD_CACHE_SECONDS: '-1' }),
    /TALLYSTICK_DATABASE_PASSWORD_CACHE_SECONDS: must be seconds, from 0 to 3600/,
  )
})
