#!/usr/bin/env node
// Runs the binary of this system's package, with the same arguments, signals and status.
const { spawn } = require('node:child_process')

const name = `picogpt-${process.platform}-${process.arch}`
const exe = process.platform === 'win32' ? '.exe' : ''
let gpt
try {
  gpt = require.resolve(`${name}/bin/gpt${exe}`)
} catch {
  console.error(`gpt: package ${name} of this system: want it beside picogpt, found none`)
  process.exit(1)
}
const child = spawn(gpt, process.argv.slice(2), { stdio: 'inherit' })
process.on('SIGINT', () => {}) // of a terminal: the child has it too
for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
child.on('error', (e) => { console.error(`gpt: ${e.message}`); process.exit(1) })
child.on('exit', (status, signal) => {
  if (!signal) process.exit(status)
  process.removeAllListeners(signal)
  process.kill(process.pid, signal)
})
