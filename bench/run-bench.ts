const closers: (() => Promise<void>)[] = []

/** Adds something to close when the benchmark ends, however it does: the last first. */
export function onClose(close: () => Promise<void>): void {
  closers.push(close)
}

/** A benchmark as a process: exit code 0 if `main` says that all is well; 2 for arguments that are none. */
export async function runBench<Options>(
  parseOptions: (args: string[]) => Options,
  main: (options: Options) => Promise<boolean>,
): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void closeAll().finally(() => process.exit(130)))
  let options: Options
  try {
    options = parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}: see --help`)
    process.exit(2)
  }
  try {
    process.exitCode = (await main(options)) ? 0 : 1
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await closeAll()
  }
}

async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}
