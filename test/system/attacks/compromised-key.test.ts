import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain, type TestChain } from '../../helpers/test-chain.ts'

/*
 * An operator reports a stolen envelope key in the first line of an export. The thief, or anybody else who passes the
 * export on, can remove the report. The verifier must therefore also use what its user knows about the key.
 */

function makeStolen(): TestChain {
  const chain = makeChain()
  chain.notarize()
  chain.rotateServerKey()
  chain.notarize()
  return chain
}

test('verify --compromised refuses a stolen key although the export does not report it', async (t) => {
  const chain = makeStolen()
  const files = temporaryFiles(t)
  const path = files.write('silent.ndjson', `${chain.exportLines().join('\n')}\n`)
  const [stolen, next] = chain.signers.map(({ kidHex }) => kidHex) as [string, string]
  const verify = (...options: string[]) => runAlone(['verify', path, ...options])
  assert.equal((await verify()).code, 0, 'the first line says nothing of it')

  const told = await verify('--compromised', stolen.toUpperCase())
  assert.equal(told.code, 1)
  assert.match(
    told.stdout,
    /^INTEGRITY_FAILED code=key_compromised reason="a compromised key signed up to seq 4/,
  )
  const covered = files.write('covered.note', chain.checkpoint(5))
  const short = files.write('short.note', chain.checkpoint(4))
  assert.equal((await verify('--compromised', stolen, '--checkpoint', short)).code, 1)
  assert.equal((await verify('--compromised', stolen, '--checkpoint', covered)).code, 0)
  assert.equal((await verify('--compromised', next)).code, 1)

  // A checkpoint that was stored after the theft does not help, because by then the thief may have signed entries.
  const since = (seq: number) => `${stolen}=${chain.lines[seq]!.recordedAt}`
  const late = await verify('--compromised', since(3), '--checkpoint', covered)
  assert.match(late.stdout, /^INTEGRITY_FAILED seq=3 code=key_compromised/)
  assert.equal((await verify('--compromised', since(5), '--checkpoint', covered)).code, 0)
})

test('--compromised refuses malformed values with 64, and reports a kid that has signed nothing', async (t) => {
  const path = temporaryFiles(t).write('ledger.ndjson', `${makeStolen().exportLines().join('\n')}\n`)
  for (const wrong of ['abc', `${'0'.repeat(64)}=yesterday`, `${'0'.repeat(64)}=2026-13-01T00:00:00Z`, '=']) {
    const { code, stderr } = await runAlone(['verify', path, '--compromised', wrong])
    assert.equal(code, 64, wrong)
    assert.match(stderr, /--compromised needs a kid/)
  }
  const { code, stderr } = await runAlone(['verify', path, '--compromised', '0'.repeat(64)])
  assert.equal(code, 0)
  assert.match(stderr, /the key 0{64}, declared compromised, has signed nothing here/)
})
