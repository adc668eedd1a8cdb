/*
 * npm run drill -- archive
 *
 * Builds Versity's S3 gateway once, and tests an archive in one of the gateway's buckets (s3.test.ts).
 */
import { spawnSync } from 'node:child_process'
import { join, resolve } from 'node:path'
import { installGoTool } from '../../../tools/go-tool.ts'

const ROOT = resolve(import.meta.dirname, '..', '..', '..')
await installGoTool('versitygw', console.log)
const tests = [join(ROOT, 'test/run.ts'), 'test/system/archive/s3.test.ts']
process.exitCode = spawnSync(process.execPath, tests, { cwd: ROOT, stdio: 'inherit' }).status ?? 1
