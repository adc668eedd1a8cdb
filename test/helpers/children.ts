import type { ChildProcess } from 'node:child_process'
import { after } from 'node:test'

const children: ChildProcess[] = []

/**
 * Kills the child after the file's tests. A child that a failed test did not end would prevent the test file from
 * ending.
 */
export function endsWithTests<T extends ChildProcess>(child: T): T {
  children.push(child)
  return child
}

after(() => {
  for (const child of children) {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
    child.unref()
  }
})
