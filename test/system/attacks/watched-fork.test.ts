import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { publishCheckpoints } from '../../../src/followers/checkpoints/publish.ts'
import { auditOf } from '../../followers/audit/set-up.ts'
import { type ShownCheckpoint, serveCheckpoints } from '../../helpers/checkpoint-server.ts'
import { buildCliApp } from '../../helpers/cli-app.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain } from '../../helpers/test-chain.ts'
import { consistencyOf } from '../../helpers/test-proof.ts'

/*
 * An operator with all keys shows an outsider a checkpoint of ten entries, rewrites the ledger, and shows a checkpoint
 * of twenty entries. Both checkpoints are signed, and the size grows. `checkpoints watch` detects this for the
 * outsider.
 */

function makeForked() {
  const chain = makeChain()
  while (chain.lines.length < 20) chain.notarize()
  const fork = makeChain({ ledger: chain.ledger })
  while (fork.lines.length < 20) fork.notarize()
  const signed = { signer: chain.noteSigner }
  return { chain, fork, genuine: chain.checkpoint(20), forked: fork.checkpoint(20, signed) }
}

const answer = (body: object) => () => ({ status: 200, body })
const refusal = (status: number, code: string) => () => ({
  status,
  body: { type: 'x', title: 'x', detail: 'x', status, code, requestId: 'r', retryable: status === 503 },
})

test('checkpoints watch refuses a fork with any proof, and stores both notes as evidence', async (t) => {
  const { chain, fork, forked, genuine } = makeForked()
  const shown: ShownCheckpoint = { note: chain.checkpoint(10), proof: refusal(503, 'overloaded') }
  const url = await serveCheckpoints(t, chain, shown)
  const { directory } = temporaryFiles(t)
  const path = join(directory, 'kept.ndjson')
  const watch = () =>
    runAlone(['checkpoints', 'watch', path, '--server', url, '--once', '--api-key', 'tly_x'])
  assert.equal((await watch()).code, 0)
  const first = readFileSync(path, 'utf8')
  shown.note = forked
  const other = consistencyOf(chain, 9, 20)
  const proofs = [
    consistencyOf(fork, 10, 20),
    consistencyOf(chain, 10, 20),
    other,
    { ...other, from: 10 },
    { from: 10, to: 20, path: ['rubbish'] },
    { from: 10, to: 20, path: [] },
    { from: 10, to: 10, path: [] },
  ]
  for (const proof of proofs) {
    shown.proof = answer(proof)
    const { code, stdout, stderr } = await watch()
    assert.equal(code, 1, stdout + stderr)
    assert.match(
      stdout,
      /^CHECKPOINT_CONTRADICTION the server does not prove that its ledger of 20 entries begins with/,
    )
    assert.equal(readFileSync(path, 'utf8'), first, 'nothing is appended')
    const evidence = readdirSync(directory).filter((name) => name !== 'kept.ndjson')
    assert.deepEqual(evidence.sort(), [
      'kept.ndjson.contradiction-10-kept.note',
      'kept.ndjson.contradiction-20-shown.note',
    ])
    const [kept, showed] = evidence.map((name) => readFileSync(join(directory, name), 'utf8'))
    assert.deepEqual([kept, showed], [chain.checkpoint(10), forked])

    // The command fails even if the server is honest from now on, because a person has to check first.
    Object.assign(shown, { note: genuine, proof: answer(consistencyOf(chain, 10, 20)) })
    const again = await watch()
    assert.equal(again.code, 1)
    assert.match(again.stderr, /contradicted a checkpoint .*contradiction-10-kept\.note.*move the files away/)
    for (const name of evidence) rmSync(join(directory, name))
    shown.note = forked
  }
  shown.note = genuine
  shown.proof = answer(consistencyOf(chain, 10, 20))
  assert.equal((await watch()).code, 0)
  assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 2)
})

test('a server that gives no proof is refused with a hint', async (t) => {
  const { chain, forked } = makeForked()
  const shown: ShownCheckpoint = { note: chain.checkpoint(10), proof: refusal(404, 'not_found') }
  const url = await serveCheckpoints(t, chain, shown)
  const path = join(temporaryFiles(t).directory, 'kept.ndjson')
  const watch = (...options: string[]) =>
    runAlone(['checkpoints', 'watch', path, '--server', url, '--api-key', 'tly_x', ...options])
  assert.equal((await watch('--once')).code, 0)
  const first = readFileSync(path, 'utf8')
  shown.note = forked
  const refusals = [
    [refusal(404, 'not_found'), 1],
    [refusal(403, 'forbidden'), 1],
    [refusal(503, 'overloaded'), 69],
  ] as const
  for (const [proof, expected] of refusals) {
    shown.proof = proof
    const { code, stderr } = await watch('--once')
    assert.equal(code, expected, stderr)
    assert.match(
      stderr,
      /of 20 entries is not stored: .* the stored checkpoint of 10 .*tallystick verify --checkpoint/,
    )
    assert.equal(readFileSync(path, 'utf8'), first)
  }
  // While the command watches, it retries a server that is unavailable for a while. A refusal ends the command.
  const proofs = [refusal(503, 'overloaded'), refusal(404, 'not_found')]
  shown.proof = () => proofs.shift()!()
  const { code, stderr } = await watch('--every', '1')
  assert.deepEqual([code, proofs.length, stderr.trimEnd().split('\n').length], [1, 0, 2])
})

test('checkpoints of an honest server are proved and stored', async (t) => {
  const app = await buildCliApp(t)
  const { publisher } = await auditOf(t, app)
  const path = join(app.files.directory, 'kept.ndjson')
  const watch = () => runAlone(['checkpoints', 'watch', path, '--once'], { env: app.env })
  for (let round = 0; round < 3; round++) {
    await app.notarize()
    await app.sql(
      `set session_replication_role = replica;
       update tallystick.checkpoints set published_at = published_at - interval '2 seconds';
       set session_replication_role = origin`,
    )
    await publishCheckpoints(publisher)
    assert.deepEqual(await watch(), { code: 0, stdout: '', stderr: '' })
  }
  assert.equal(readFileSync(path, 'utf8').trimEnd().split('\n').length, 3)
})
