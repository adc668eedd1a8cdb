import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makePublish } from '../helpers/checkpoints.ts'
import { publishingCliApp } from '../helpers/cli-app.ts'
import { runAlone, runCommand } from '../helpers/run-command.ts'
import { makeIssuer, signStatement } from '../helpers/signed-statements.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

async function setUp(t: TestContext) {
  const app = await publishingCliApp(t)
  const files = temporaryFiles(t)
  const issuer = makeIssuer()
  const pem = issuer.publicKey.export({ format: 'pem', type: 'spki' })
  return {
    app,
    issuer,
    publish: await makePublish(t, app),
    policy: files.write(
      'policy.json',
      JSON.stringify({ issuers: [{ issuer: issuer.issuer, keys: [issuer.key] }] }),
    ),
    signed: files.write('sbom.cose', signStatement(issuer)),
    pem: files.write('build.pem', pem),
    otherPem: files.write('other.pem', makeIssuer().publicKey.export({ format: 'pem', type: 'spki' })),
    out: join(files.directory, 'sbom.transparent.cose'),
  }
}

test('a statement is registered, listed, and checked offline with its receipt', async (t) => {
  const { app, issuer, publish, policy, signed, pem, otherPem, out } = await setUp(t)
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand(args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const refused = await runCommand(['statements', 'register', signed])
  assert.match(refused.stderr, /no_registration_policy.*PUT \/v1\/registration-policy/s)
  await run('statements', 'set-policy', policy)
  assert.equal(JSON.parse(await run('statements', 'policy')).issuers[0].issuer, issuer.issuer)
  const made = JSON.parse(await run('statements', 'register', signed))
  await publish()
  assert.deepEqual(JSON.parse(await run('statements', 'get', made.id, '-o', out)), made)
  assert.deepEqual(JSON.parse(await run('statements', 'list', '--issuer', issuer.issuer)), made)
  assert.equal(await run('statements', 'list', '--subject', 'nothing'), '')
  assert.ok(readFileSync(out).length > readFileSync(signed).length)

  const { noteVerifierKey } = (await app.send('GET', '/v1/ledger')).json()
  const verify = (...args: string[]) =>
    runAlone(['verify', 'statement', out, '--note-key', noteVerifierKey, ...args])
  const found = await verify('--issuer-key', pem)
  const line = `STATEMENT_OK entry=${made.seq} issuer="https://build.example" subject="pkg:generic/copper@1" type="application/json" kid=6b31`
  assert.ok(found.stdout.startsWith(line), found.stdout)
  assert.match(found.stdout, /issuer-key=given\n$/)
  assert.match((await verify()).stdout, /issuer-key=not-given\n$/)
  const wrong = await verify('--issuer-key', otherPem)
  assert.deepEqual([wrong.code, wrong.stderr], [1, ''])
  assert.match(wrong.stdout, /^STATEMENT_FAILED code=signature_invalid reason="/)
  assert.equal(JSON.parse((await verify('--json')).stdout).leaf, made.leaf)
  assert.equal((await verify('--issuer-key', out)).code, 64)

  const tail = await run('verify', '--server', app.url)
  assert.match(tail, /INTEGRITY_OK/)
})
