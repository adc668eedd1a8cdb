import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseConfig, required } from '../../src/run/config.ts'

test('an empty environment is valid, and an empty variable counts as not set', () => {
  const empty = parseConfig({})
  assert.equal(empty.port, 3000)
  assert.equal(empty.publicUrl, 'http://localhost:3000')
  assert.equal(empty.ownerUrl, null)
  assert.deepEqual(parseConfig({ DATABASE_URL: '', TALLYSTICK_PORT: '', TALLYSTICK_MASTER_KEY: '' }), empty)
})

test('a master key is 32 bytes, as hex or as base64', () => {
  const key = Buffer.alloc(32, 7)
  for (const spelling of [key.toString('hex'), key.toString('base64')]) {
    assert.deepEqual(parseConfig({ TALLYSTICK_MASTER_KEY: spelling }).masterKey, key)
  }
})

test('every invalid variable is named, and no value is shown', () => {
  const faulty = {
    TALLYSTICK_PORT: '70000',
    DATABASE_URL: 'mysql://root:hunter2@localhost/x',
    TALLYSTICK_MASTER_KEY: 'c2hvcnQ',
    TALLYSTICK_OPERATOR_KEY: 'hunter3',
  }
  assert.throws(
    () => parseConfig(faulty),
    ({ message }: Error) => {
      for (const name of Object.keys(faulty)) assert.ok(message.includes(name), name)
      assert.doesNotMatch(message, /hunter|c2hvcnQ/)
      return true
    },
  )
})

test('an invalid port is refused with the allowed range', () => {
  for (const TALLYSTICK_PORT of ['24xx', '70000', '-1', '1.5'])
    assert.throws(
      () => parseConfig({ TALLYSTICK_PORT }),
      /TALLYSTICK_PORT: must be a port, from 0 to 65535/,
      TALLYSTICK_PORT,
    )
})

test('trailing slashes of the public URL are removed, so that an issuer has one spelling', () => {
  assert.equal(
    parseConfig({ TALLYSTICK_PUBLIC_URL: 'https://ledger.example//' }).publicUrl,
    'https://ledger.example',
  )
})

test('a public URL that verifiers would refuse as issuer is refused', () => {
  const wrong = [
    'http://a+b',
    'http://é.example',
    'https://h/é',
    'https://h/a b',
    `http://${'a'.repeat(1_020)}`,
  ]
  for (const TALLYSTICK_PUBLIC_URL of wrong)
    assert.throws(
      () => parseConfig({ TALLYSTICK_PUBLIC_URL }),
      /TALLYSTICK_PUBLIC_URL.* printable ASCII/,
      TALLYSTICK_PUBLIC_URL,
    )
  for (const TALLYSTICK_PUBLIC_URL of [
    'http://[::1]:8080',
    'https://h/a/b+c',
    `https://${'a'.repeat(63)}.example`,
  ])
    assert.equal(parseConfig({ TALLYSTICK_PUBLIC_URL }).publicUrl, TALLYSTICK_PUBLIC_URL)
})

test('TALLYSTICK_OUTBOUND_ALLOW accepts addresses and ranges, and names an invalid element', () => {
  assert.deepEqual(parseConfig({}).outboundAllow, [])
  assert.equal(parseConfig({ TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.1, fd00::/8' }).outboundAllow.length, 2)
  assert.throws(
    () => parseConfig({ TALLYSTICK_OUTBOUND_ALLOW: '10.0.0.0/8,receiver' }),
    /TALLYSTICK_OUTBOUND_ALLOW: receiver is neither an IP address nor a range/,
  )
})

test('database options apply to every URL; faults are named without their values', () => {
  assert.deepEqual(parseConfig({}).database, { caFile: null, password: null, accepted: [] })
  assert.equal(parseConfig({}).schemaWaitMs, 0)
  const config = parseConfig({
    TALLYSTICK_DATABASE_CA_FILE: '/run/ca.pem',
    TALLYSTICK_DATABASE_PASSWORD_FILE: '/run/password',
    TALLYSTICK_DATABASE_ACCEPT: 'full_page_writes',
    TALLYSTICK_SCHEMA_WAIT_SECONDS: '120',
    TALLYSTICK_DATABASE_LOGINS: 'rds-iam',
  })
  assert.deepEqual(config.database, {
    caFile: '/run/ca.pem',
    password: { file: '/run/password' },
    accepted: ['full_page_writes'],
  })
  assert.equal(config.schemaWaitMs, 120_000)
  assert.equal(config.loginsByRdsIam, true)
  const faulty = {
    TALLYSTICK_DATABASE_PASSWORD_COMMAND: 'echo "hunter2"',
    TALLYSTICK_SCHEMA_WAIT_SECONDS: 'hunter2',
    TALLYSTICK_DATABASE_LOGINS: 'hunter2',
  }
  assert.throws(
    () => parseConfig(faulty),
    ({ message }: Error) => {
      for (const name of Object.keys(faulty)) assert.ok(message.includes(name), name)
      assert.doesNotMatch(message, /hunter/)
      return true
    },
  )
})

test('a key may be in a private file, with a final newline and no other white space', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'tallystick-config-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = (text: string, mode = 0o440) => {
    const path = join(dir, randomUUID())
    writeFileSync(path, text)
    chmodSync(path, mode)
    return path
  }
  const [master, operator] = ['ab'.repeat(32), `tlo_${'x'.repeat(32)}`]
  const config = parseConfig({
    TALLYSTICK_MASTER_KEY_FILE: file(`${master}\n`),
    TALLYSTICK_MASTER_KEY_PREVIOUS_FILE: file('cd'.repeat(32), 0o400),
    TALLYSTICK_OPERATOR_KEY_FILE: file(`${operator}\r\n`),
    TALLYSTICK_OPERATOR_KEY_PREVIOUS: `tlo_${'y'.repeat(32)}`,
  })
  assert.deepEqual(config.masterKey, Buffer.from(master, 'hex'))
  assert.deepEqual(config.previousMasterKey, Buffer.from('cd'.repeat(32), 'hex'))
  assert.equal(config.operatorKey, operator)
  assert.equal(config.previousOperatorKey, `tlo_${'y'.repeat(32)}`)

  const refused: [env: Record<string, string>, message: RegExp][] = [
    [{ TALLYSTICK_MASTER_KEY_FILE: file(master, 0o444) }, /KEY_FILE: .* is open to every user .* chmod 440/],
    [{ TALLYSTICK_MASTER_KEY_FILE: file(master, 0o442) }, /is open to every user/],
    [{ TALLYSTICK_MASTER_KEY_FILE: file(` ${master}`) }, /has several lines or spaces/],
    [{ TALLYSTICK_MASTER_KEY_FILE: file(`${master}\n\n`) }, /has several lines or spaces/],
    [{ TALLYSTICK_MASTER_KEY_FILE: file('\n') }, /is empty/],
    [{ TALLYSTICK_MASTER_KEY_FILE: file(master.repeat(20)) }, /has more than \d+ bytes: write only the key/],
    [{ TALLYSTICK_MASTER_KEY_FILE: file(`${master}ab`) }, /TALLYSTICK_MASTER_KEY: must be 32 bytes/],
    [{ TALLYSTICK_MASTER_KEY_FILE: join(dir, 'nowhere') }, /MASTER_KEY_FILE: cannot be read: ENOENT/],
    [{ TALLYSTICK_MASTER_KEY_FILE: dir }, /MASTER_KEY_FILE: /],
    [
      { TALLYSTICK_OPERATOR_KEY_FILE: file(operator), TALLYSTICK_OPERATOR_KEY: operator },
      /TALLYSTICK_OPERATOR_KEY_FILE: is set, and so is TALLYSTICK_OPERATOR_KEY: remove one/,
    ],
  ]
  for (const [env, message] of refused) {
    assert.throws(
      () => parseConfig(env),
      (error: Error) => {
        assert.match(error.message, message)
        assert.ok(!error.message.includes(master) && !error.message.includes(operator))
        return true
      },
    )
  }
})

test('an archive lock that ends no later than TALLYSTICK_ARCHIVE_KEEP_DAYS is refused', () => {
  const keep = { TALLYSTICK_ARCHIVE: 's3://ledgers/fleet', TALLYSTICK_ARCHIVE_KEEP_DAYS: '90' }
  for (const days of ['30', '90'])
    assert.throws(
      () => parseConfig({ ...keep, TALLYSTICK_ARCHIVE_LOCK_DAYS: days }),
      /LOCK_DAYS \(\d+\) must be more than TALLYSTICK_ARCHIVE_KEEP_DAYS \(90\): .* Lock it for as long as/,
    )
  assert.equal(parseConfig({ ...keep, TALLYSTICK_ARCHIVE_LOCK_DAYS: '91' }).archive?.retentionDays, 90)
  assert.equal(parseConfig(keep).archive?.retentionDays, 90)
})

test('a missing required variable is named with its purpose', () => {
  assert.throws(
    () => required(null, 'TALLYSTICK_MASTER_KEY', 'it opens the key'),
    /TALLYSTICK_MASTER_KEY is not set: it opens/,
  )
})

test('witnesses need a valid key and an allowed address; a fault is named', () => {
  const key = 'witness.example/w1+9d26672a+BEOnLnFEAXYt9mtowm373yaCquyfJHTspGE+QkoPuv08'
  const other = 'witness.example/w2+ef40c7a6+BGa+fjMsekUzMr2dCn99sFX1xe8aBq2mbZizn7aBDEc6'
  const witnessesOf = (text: string, allow = '') =>
    parseConfig({ TALLYSTICK_WITNESSES: text, TALLYSTICK_OUTBOUND_ALLOW: allow }).witnesses
  assert.deepEqual(parseConfig({}).witnesses, [])
  const found = witnessesOf(`${key} https://w1.example/x/, ${other} http://127.0.0.1:3070`, '127.0.0.1')
  assert.deepEqual(
    found.map(({ key: { name }, url }) => [name, url]),
    [
      ['witness.example/w1', 'https://w1.example/x'],
      ['witness.example/w2', 'http://127.0.0.1:3070'],
    ],
  )
  const wrong: [string, RegExp][] = [
    [key, /write each witness as its verifier key, a space and its URL/],
    [
      'w1 https://w1.example',
      /w1: not <name>\+<id>\+<key>; write the verifier key that `tallystick witness` prints/,
    ],
    [`${key} https://127.0.0.1`, /is not a public address/],
    [`${key} http://w1.example`, /use https:/],
    [`${key} https://w1.example,${key} https://w2.example`, /would count twice/],
    [Array(17).fill(`${key} https://w1.example`).join(','), /there are 17 witnesses; at most 16 are allowed/],
  ]
  for (const [text, pattern] of wrong) {
    assert.throws(() => witnessesOf(text), pattern)
    assert.throws(() => witnessesOf(text), /TALLYSTICK_WITNESSES: /)
  }
})
