import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3'
import { freePort } from './free-port.ts'
import type { Ends } from './tcp-proxy.ts'
import { until } from './wait.ts'

export const S3_ACCESS = { accessKeyId: 'archive', secretAccessKey: 'archive-secret' }
export const S3_REGION = 'us-east-1'
export const BUCKET = 'ledgers'

export type S3Gateway = { readonly url: string; readonly directory: string; client(): S3Client }

/** Starts Versity's S3 gateway on a directory, with a bucket that supports object lock. `tool`: path of its binary. */
export async function startS3Gateway(t: Ends, tool: string): Promise<S3Gateway> {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-s3-'))
  const [root, versions, sidecar] = ['root', 'versions', 'sidecar'].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ]
  for (const made of [root, versions, sidecar]) mkdirSync(made)
  const port = await freePort()
  const child = spawn(
    tool,
    [
      '--quiet',
      '--port',
      `127.0.0.1:${port}`,
      '--region',
      S3_REGION,
      'posix',
      '--versioning-dir',
      versions,
      '--sidecar',
      sidecar,
      root,
    ],
    {
      stdio: 'inherit',
      env: {
        ROOT_ACCESS_KEY: S3_ACCESS.accessKeyId,
        ROOT_SECRET_KEY: S3_ACCESS.secretAccessKey,
        HOME: directory,
      },
    },
  )
  const url = `http://127.0.0.1:${port}`
  t.after(async () => {
    child.kill()
    rmSync(directory, { recursive: true, force: true })
  })
  const client = () =>
    new S3Client({
      endpoint: url,
      region: S3_REGION,
      forcePathStyle: true,
      credentials: S3_ACCESS,
      maxAttempts: 1,
    })
  const admin = client()
  const create = new CreateBucketCommand({ Bucket: BUCKET, ObjectLockEnabledForBucket: true })
  await until(() =>
    admin.send(create).then(
      () => true,
      () => false,
    ),
  )
  admin.destroy()
  return { url, directory: join(root, BUCKET), client }
}
