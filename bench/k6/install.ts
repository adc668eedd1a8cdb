import { execFileSync } from 'node:child_process'
import { installGoTool } from '../../tools/go-tool.ts'

/**
 * Returns the path of the k6 binary: the path in `K6`, or the cached binary. Otherwise builds k6 (tools/go-tool.ts).
 */
export async function installK6(log: (line: string) => void): Promise<string> {
  const path = await installGoTool('k6', log)
  try {
    describeK6(path)
    return path
  } catch (error) {
    throw new Error(`K6=${path} does not run (${(error as Error).message})`)
  }
}

/** Returns the version line of k6, such as `k6 v2.2.0 (go1.26.8, linux/amd64)`. */
export function describeK6(path: string): string {
  return execFileSync(path, ['version'], { encoding: 'utf8' }).split('\n', 1)[0]!.trim()
}
