// Starts `cepheid lsp`, which does the rest.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const settings = workspace.getConfiguration("cepheid");
  const server = { command: settings.get("command"), args: ["lsp"] };
  client = new LanguageClient("cepheid", "cepheid", server, {
    documentSelector: [{ language: "sase" }],
    initializationOptions: { events: settings.get("events") || null },
  });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
