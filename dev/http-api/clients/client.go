// Files an invoice with the generated client. Arguments: address, token, exporter, reference, file with the message, and
// file with a webhook that was received.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

func try[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func read[T any](path string) (value T) {
	if err := json.Unmarshal(try(os.ReadFile(path)), &value); err != nil {
		panic(err)
	}
	return value
}

func main() {
	url, token, exporter, reference := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	client := try(NewClientWithResponses(url, WithRequestEditorFn(func(_ context.Context, request *http.Request) error {
		request.Header.Set("Authorization", "Bearer "+token)
		request.Header.Set("Prefer", "wait=60")
		return nil
	})))
	message, all := read[PushMessage](os.Args[5]), context.Background()
	filed := try(client.FileWithResponse(all, FileRequest{Exporter: exporter, Reference: reference, Message: &message}))
	if filed.JSON201 == nil || filed.JSON201.State != "certified" {
		panic(string(filed.Body))
	}
	rows := try(client.ListRowsWithResponse(all, reference, nil)).JSON200
	unknown := try(client.GetFilingWithResponse(all, "NONE")).ApplicationproblemJSONDefault
	if unknown.Code != "unknown_filing" {
		panic("an unknown filing was answered")
	}
	hook := read[struct {
		Secret, Body string
		Headers      map[string]string
	}](os.Args[6])
	headers := http.Header{}
	for name, value := range hook.Headers {
		headers.Set(name, value)
	}
	if err := try(standardwebhooks.NewWebhook(hook.Secret)).Verify([]byte(hook.Body), headers); err != nil {
		panic(err)
	}
	fmt.Println(reference, filed.JSON201.State, *rows.Items[0].EBRCNumber, "webhook verified")
}
