import assert from 'node:assert/strict'
import { chmodSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { EXIT } from '../../cli/exit-codes.ts'
import { sharedCliApp } from '../helpers/cli-app.ts'
import { runCommand as run } from '../helpers/run-command.ts'

test('an agent gets a key of its own, signs with it, rotates and revokes it', async (t) => {
  const { files, ledger } = await sharedCliApp(t)
  const [first, next] = ['first.pem', 'next.pem'].map((name) => join(files.directory, name)) as [
    string,
    string,
  ]
  const ok = async (...args: string[]) => {
    const { code, stdout, stderr } = await run(args)
    assert.equal(code, EXIT.ok, stderr)
    return JSON.parse(stdout.split('\n')[0]!)
  }
  const agent = ledger.agent.name
  const made = await ok('agents', 'keygen', first)
  assert.equal(statSync(first).mode & 0o777, 0o600)
  assert.match(readFileSync(first, 'utf8'), /^-----BEGIN PRIVATE KEY-----\n/)
  assert.equal((await run(['agents', 'keygen', first])).code, EXIT.io, 'an existing file is kept')
  const careless = await run(['agents', 'register-key', agent, first, '--required'])
  assert.match(careless.stderr, /add --yes/)
  const registered = await ok('agents', 'register-key', agent, first, '--required', '--yes')
  assert.deepEqual([registered.kid, registered.required], [made.kid, true])
  assert.match((await run(['notarize', '--payload', '{"n":1}'])).stderr, /agent_signature_required/)
  const record = await ok('notarize', '--payload', '{"n":1}', '--signing-key', first)
  assert.equal(record.entry.signedBy, 'agent')
  await ok('agents', 'keygen', next, '--alg', 'ES256')
  const { kid } = await ok('agents', 'register-key', agent, next, '--endorsed-by', first)
  assert.ok((await ok('agents', 'revoke-key', agent, made.kid, '--yes')).revokedAt)
  const listed = await run(['agents', 'signing-keys', agent])
  assert.deepEqual(
    listed.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).kid),
    [made.kid, kid],
  )
  chmodSync(next, 0o644)
  assert.match((await run(['notarize', '--payload', '{}', '--signing-key', next])).stderr, /chmod 600/)
})
