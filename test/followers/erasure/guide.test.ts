import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { lendGatedApp } from '../../helpers/gated-app.ts'
import { makePersonalGated } from '../../helpers/personal-gated.ts'
import { SECRET } from '../../helpers/personal-records.ts'
import { shellBlocks } from '../../system/docs/shell-blocks.ts'

const run = promisify(execFile)

test('the commands of docs/guides/erasure-and-retention.md erase every document of a record', async (t) => {
  const app = await lendGatedApp(t)
  const { id } = await makePersonalGated(app)
  const url = await app.app.listen({ host: '127.0.0.1', port: 0 })
  const text = shellBlocks('docs/guides/erasure-and-retention.md')
    .join('')
    .replaceAll('http://localhost:3000', url)
  const env = { PATH: process.env['PATH'], TALLYSTICK_API_KEY: app.ledger.key.key, RECORD: id }
  const lines = (await run('bash', ['-ec', text], { env })).stdout.trimEnd().split('\n')
  const [problem, ...answers] = lines.map((line) => JSON.parse(line)).reverse()
  assert.deepEqual(
    answers.map(({ remaining }) => remaining.length),
    [0, 1, 2, 3, 4, 5, 6],
  )
  assert.deepEqual([problem.code, problem.remaining], ['already_ended', []])
  assert.ok(!(await app.send('GET', '/v1/entries')).body.includes(SECRET))
})
