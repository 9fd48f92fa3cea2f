// Onboards an exporter, files a message and a workbook, and follows them. Go 1.21 or newer: go run back_office.go
package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

type object = map[string]any

var ebrc, token, sandbox, ref = os.Getenv("EBRC"), os.Getenv("TOKEN"), os.Getenv("SANDBOX"), os.Getenv("REF")

// ask answers status and body; a problem is an answer too. After 429 and 503 the same request is repeated.
func ask(method, address, kind string, body []byte) (int, object, []byte) {
	for {
		request := try(http.NewRequest(method, address, bytes.NewReader(body)))
		request.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {kind}, "Prefer": {"wait=60"}}
		answer := try(http.DefaultClient.Do(request))
		content, read := try(io.ReadAll(answer.Body)), object{}
		answer.Body.Close()
		if answer.StatusCode != 429 && answer.StatusCode != 503 {
			_ = json.Unmarshal(content, &read) // A PDF is none.
			return answer.StatusCode, read, content
		}
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		time.Sleep(time.Duration(max(seconds, 1)) * time.Second)
	}
}

func try[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func get(path string) object { _, body, _ := ask("GET", ebrc+path, "application/json", nil); return body }

func post(address string, body any) (int, object) {
	status, answer, _ := ask("POST", address, "application/json", try(json.Marshal(body)))
	return status, answer
}

// ended waits until a filing ends, or needs somebody.
func ended(reference string) any {
	for {
		filing := get("/v1/filings/" + url.PathEscape(reference))
		switch filing["state"] {
		case "certified", "partly_certified", "rejected", "needs_correction", "abandoned", "awaiting_approval", "needs_credentials":
			return filing["state"]
		}
		if filing["asked"] == true {
			return filing["state"]
		}
	}
}

// row maps a remittance to an invoice. The fields of the IRM have the same names.
func row(irm object, serial int, document string) object {
	mapping := object{"serialNo": serial, "uploadType": 103, "branchSlNo": 0, "irmRemitAmtFCC": json.Number(irm["irmRemitAmtFCC"].(string)),
		"sbCumInvoiceNumber": document, "sbCumInvoiceDate": "2026-05-15", "portCode": "INBLR4", "billNo": document, "sbCumInvoiceFCC": irm["irmFCC"],
		"sbCumInvoiceValueinFCC": 10, "mappedIRMAmountFCC": 10, "isVostro": "N", "isGstAvail": "N"}
	for _, name := range strings.Fields("irmIfscCode irmAdCode irmNumber irmDt irmFCC irmPurposeCode") {
		mapping[name] = irm[name]
	}
	return mapping
}

func filing(reference string, rows ...object) object {
	message := object{"recordResCount": len(rows), "uploadType": "103", "decalarationFlag": "Y", "ebrcBulkGenDtos": rows}
	return object{"exporter": "accounts@kaveri.example", "reference": reference, "message": message}
}

// verified says whether a webhook is ours (Standard Webhooks). While a secret is rotated there are two signatures.
func verified(secret string, head http.Header, body []byte) bool {
	id, at := head.Get("Webhook-Id"), head.Get("Webhook-Timestamp")
	if seconds, err := strconv.ParseInt(at, 10, 64); err != nil || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		return false
	}
	mac := hmac.New(sha256.New, try(base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))))
	fmt.Fprintf(mac, "%s.%s.%s", id, at, body)
	own, isOurs := "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)), false
	for _, given := range strings.Fields(head.Get("Webhook-Signature")) {
		isOurs = isOurs || hmac.Equal([]byte(own), []byte(given))
	}
	return isOurs
}

func main() {
	// 1. Onboard, with the password of the portal; it goes to a vault.
	one := "/v1/exporters/accounts@kaveri.example"
	post(ebrc+"/v1/exporters", object{"name": "Kaveri Softworks", "email": "accounts@kaveri.example", "iec": "AAKCK7719P", "username": "kaveri.softworks", "password": "Kaveri@Soft9"})
	for get(one)["state"] != "ready" {
		time.Sleep(time.Second)
	}
	var irm object
	for _, each := range get(one + "/irms?free=true")["items"].([]any) {
		if irm == nil && each.(object)["irmFCC"] == "USD" {
			irm = each.(object)
		}
	}
	// 2. File two rows. The sandbox is told to reject one of them, once.
	if sandbox != "" {
		post(sandbox+"/outcomes", object{"match": object{"document": ref + "-B"}, "processingStatus": "Errored", "errorDetails": []string{"ERR36: Declaration flag"}, "times": 1})
	}
	status, _ := post(ebrc+"/v1/filings", filing(ref, row(irm, 1, ref+"-A"), row(irm, 2, ref+"-B")))
	fmt.Println("filed", status)
	fmt.Println("ended", ended(ref))
	rows := get("/v1/filings/" + ref + "/rows")["items"].([]any)
	number := rows[0].(object)["eBRCNumber"]
	fmt.Println("certified", number, "rejected", rows[1].(object)["errors"])
	for saved := false; !saved; time.Sleep(time.Second) {
		if status, _, pdf := ask("GET", fmt.Sprintf("%s/v1/certificates/%v/pdf", ebrc, number), "", nil); status == 200 {
			saved = os.WriteFile(ref+".pdf", pdf, 0o600) == nil
		}
	}
	fmt.Println("saved", ref+".pdf")
	// 3. Correct the rejected row: it alone, under the same reference.
	status, _ = post(ebrc+"/v1/filings/"+ref+"/correct", object{"message": filing(ref, row(irm, 1, ref+"-B"))["message"]})
	fmt.Println("corrected", status, ended(ref))
	// 4. What a reference and a mapping are protected from.
	_, taken := post(ebrc+"/v1/filings", filing(ref, row(irm, 1, ref+"-C")))
	_, held := post(ebrc+"/v1/filings", filing(ref+"-2", row(irm, 1, ref+"-A"), row(irm, 2, ref+"-B")))
	fmt.Println(taken["code"], held["code"])
	// 5. A workbook: a form with a file. A .csv with the names of the message's fields is one too.
	var form bytes.Buffer
	var head, line []string
	for name, value := range row(irm, 1, ref+"-D") {
		head, line = append(head, name), append(line, fmt.Sprint(value))
	}
	writer := multipart.NewWriter(&form)
	for name, value := range map[string]string{"exporter": "accounts@kaveri.example", "reference": ref + "-W", "declaration": "Y"} {
		_ = writer.WriteField(name, value)
	}
	fmt.Fprintf(try(writer.CreateFormFile("file", "july.csv")), "%s,gstinInvoiceNumber,gstinInvoiceDate\r\n%s,,", strings.Join(head, ","), strings.Join(line, ","))
	writer.Close()
	status, _, _ = ask("POST", ebrc+"/v1/filings", writer.FormDataContentType(), form.Bytes())
	fmt.Println("workbook", status, ended(ref+"-W"))
	// 6. Be told. The workers have to be allowed to reach this machine: EBRC_WEBHOOK_HOSTS=127.0.0.1
	listener, secret := try(net.Listen("tcp", "127.0.0.1:0")), ""
	go http.Serve(listener, http.HandlerFunc(func(answer http.ResponseWriter, request *http.Request) {
		if !verified(secret, request.Header, try(io.ReadAll(request.Body))) {
			answer.WriteHeader(401)
		}
	}))
	_, hook := post(ebrc+"/v1/webhooks", object{"url": "http://" + listener.Addr().String() + "/"})
	secret = hook["secret"].(string)
	hooks := fmt.Sprintf("%s/v1/webhooks/%v", ebrc, hook["webhookId"])
	_, tested := post(hooks+"/test", object{})
	fmt.Println("webhook", tested["state"])
	ask("DELETE", hooks, "application/json", nil)
}
