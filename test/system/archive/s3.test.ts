import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { DeleteObjectCommand, GetObjectRetentionCommand, ListObjectVersionsCommand } from '@aws-sdk/client-s3'
import { archiveLedgers } from '../../../src/followers/archive/archive-ledgers.ts'
import { openS3Stores } from '../../../src/verify/archive/s3-store.ts'
import { parseSeal, sealName } from '../../../src/verify/archive/seal.ts'
import { ArchiveStoreError } from '../../../src/verify/archive/store.ts'
import { findGoTool } from '../../../tools/go-tool.ts'
import { buildTestApp, type TestApp } from '../../helpers/app.ts'
import { openArchiver } from '../../helpers/archiver.ts'
import { createTestDatabase, TEST_MASTER_KEY } from '../../helpers/database.ts'
import { type HttpFault, type HttpFaults, startHttpFaults } from '../../helpers/http-faults.ts'
import { postBatch } from '../../helpers/personal-records.ts'
import { runCommand } from '../../helpers/run-script.ts'
import { BUCKET, S3_ACCESS, S3_REGION, type S3Gateway, startS3Gateway } from '../../helpers/s3-gateway.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'

/*
 * Tests an archive in a bucket with Object Lock on a third-party server. A proxy in front of that server simulates
 * faults.
 */

const tool = findGoTool('versitygw')
const options = {
  skip: tool === null && 'there is no versitygw yet: npm run drill -- archive builds it',
  timeout: 180_000,
}

type Stage = {
  readonly app: TestApp
  readonly gateway: S3Gateway
  readonly faults: HttpFaults
  readonly archiver: Awaited<ReturnType<typeof openArchiver>>
  readonly verify: () => ReturnType<Stage['archiver']['verify']>
}

async function setUp(t: TestContext): Promise<Stage> {
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: S3_ACCESS.accessKeyId,
    AWS_SECRET_ACCESS_KEY: S3_ACCESS.secretAccessKey,
  })
  const ends = { after: (end: () => Promise<void>) => t.after(end) }
  const gateway = await startS3Gateway(ends, tool!)
  const faults = await startHttpFaults(ends, gateway.url)
  const app = await buildTestApp(t)
  const stores = await openS3Stores({
    kind: 's3',
    bucket: BUCKET,
    prefix: 'fleet',
    endpoint: faults.url,
    region: S3_REGION,
    pathStyle: true,
    lock: { days: 1, mode: 'COMPLIANCE' },
  })
  t.after(() => stores.close())
  const archiver = await openArchiver(t, app, stores)
  const verify = async () => archiver.verify(await archiver.keys(), stores.of(archiver.ledger))
  await app.notarize()
  await postBatch(app, 5)
  return { app, gateway, faults, archiver, verify }
}

const errorsOf = ({ archiver }: Stage) => archiver.logged.filter(({ level }) => level === 'error')

test(
  'a ledger in a bucket verifies, its objects are locked, and another database restores it',
  options,
  async (t) => {
    const stage = await setUp(t)
    const { archiver, gateway, app } = stage
    await archiver.run()
    await app.notarize()
    await archiver.run()
    assert.deepEqual(errorsOf(stage), [])
    const report = await stage.verify()
    assert.equal(report.failure, null)
    assert.deepEqual([report.entries, report.documents], [(await app.entries()).length, 'all'])

    const client = gateway.client()
    t.after(() => client.destroy())
    const Key = `fleet/${archiver.ledger}/${sealName(report.entries)}`
    const { Retention } = await client.send(new GetObjectRetentionCommand({ Bucket: BUCKET, Key }))
    assert.equal(Retention?.Mode, 'COMPLIANCE')
    const { Versions } = await client.send(new ListObjectVersionsCommand({ Bucket: BUCKET, Prefix: Key }))
    const [{ VersionId }] = Versions as [{ VersionId: string }]
    await assert.rejects(
      client.send(new DeleteObjectCommand({ Bucket: BUCKET, Key, VersionId })),
      /AccessDenied|locked|WORM/i,
    )

    const target = await createTestDatabase(t)
    const keys = temporaryFiles(t).write('keys.json', await archiver.keyFile())
    const place = ['--archive', `s3://${BUCKET}/fleet`, '--ledger', archiver.ledger, '--archive-key', keys]
    const restored = await runCommand('restore-archive', place, {
      env: {
        DATABASE_URL: target.ownerUrl,
        TALLYSTICK_MASTER_KEY: Buffer.from(TEST_MASTER_KEY).toString('hex'),
        TALLYSTICK_ARCHIVE_S3_ENDPOINT: gateway.url,
        TALLYSTICK_ARCHIVE_S3_REGION: S3_REGION,
        TALLYSTICK_ARCHIVE_S3_PATH_STYLE: 'true',
        AWS_ACCESS_KEY_ID: S3_ACCESS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: S3_ACCESS.secretAccessKey,
      },
    })
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(restored.stdout, new RegExp(`^INTEGRITY_OK entries=${report.entries} `))
  },
)

test('requests that a bucket refuses, cuts or delays are repeated', options, async (t) => {
  const stage = await setUp(t)
  let requests = 0
  const kinds: readonly HttpFault[] = ['refuse', 'cut', 'slow']
  stage.faults.choose = () => (requests++ % 2 === 0 ? kinds[(requests >> 1) % 3]! : null)
  await stage.archiver.run()
  stage.faults.choose = () => null
  assert.deepEqual(errorsOf(stage), [])
  assert.ok(requests > 10)
  assert.equal((await stage.verify()).failure, null)
})

test('a bucket that loses or changes an object is detected before the position moves', options, async (t) => {
  const stage = await setUp(t)
  const { archiver, faults, app } = stage
  await archiver.publish()
  const positionOf = async () =>
    Number((await app.sql('select size from tallystick.archives'))[0]?.['size'] ?? 0)
  const faulty: readonly [HttpFault, string, RegExp, RegExp][] = [
    ['lose', 'PUT', /tile\/0\//, /was written, and is missing/],
    ['lose', 'PUT', /seals\//, /was written, and is missing/],
    ['change', 'GET', /lines\//, /reads back differently|differs from/],
    ['change', 'GET', /tile\/entries\//, /reads back differently|differs from/],
    ['refuse', 'PUT', /documents\//, /503|Unknown/],
  ]
  for (const [fault, method, path, finding] of faulty) {
    faults.choose = (asked, url) => (asked === method && path.test(url) ? fault : null)
    archiver.deps.unarchived.resume(archiver.ledger)
    await archiveLedgers(archiver.deps).catch((error) => assert.ok(error instanceof ArchiveStoreError))
    assert.match(String(errorsOf(stage).at(-1)?.err), finding, `${fault} ${path}`)
    assert.equal(await positionOf(), 0)
    await app.notarize()
  }
  faults.choose = () => null
  archiver.deps.unarchived.resume(archiver.ledger)
  await archiver.run()
  assert.equal(await positionOf(), (await app.entries()).length)
  assert.equal((await stage.verify()).failure, null)
})

test('objects that a bucket changes later are named by verification', options, async (t) => {
  const stage = await setUp(t)
  const { archiver, faults } = stage
  await archiver.run()
  const { entries } = await stage.verify()
  const stored = await archiver.deps.stores.of(archiver.ledger).get(sealName(entries), 1_000_000)
  for (const { name } of parseSeal(stored!, entries).objects) {
    faults.choose = (method, url) => (method === 'GET' && url.includes(name) ? 'change' : null)
    const { failure } = await stage.verify()
    assert.ok(failure?.reason.startsWith(name), `${name}: ${failure?.reason}`)
  }
})
